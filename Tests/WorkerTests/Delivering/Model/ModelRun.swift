import Base
import Database
import HTTP
import Postgres
import TestSupport
import Worker

/// Steps taken by the model and by the real thing, which are compared after each.
final class ModelRun {
    /// What must not be.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let perEndpoint = 8
    private static let purchases = 3
    private static let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])

    private let database: TestDatabase
    /// Who types commands.
    let operating: PostgresConnection
    let clock = ManualClock(1_790_000_000_000)
    private var workers: [ModelWorker] = []
    /// Of each worker, how many of the requests in flight were looked at.
    private var seen: [Int] = []
    var model = ReferenceModel(rounds: ModelWorker.schedule.count + 1)
    private var arrived: Set<DeliveryID> = []
    private var made = 0

    /// The database is emptied first.
    init(_ database: TestDatabase) throws {
        self.database = database
        operating = try database.connect(role: "entitled_worker")
        for table in ["delivery", "event", "event_copy", "attempt", "endpoint", "endpoint_secret"] {
            try database.execute("TRUNCATE entitled.\(table)")
        }
        for _ in 0..<2 { try replace(workers.count) }
        for isOrdered in [true, false, true] { try addEndpoint(isOrdered: isOrdered) }
        try workers[0].takeOver()
    }

    deinit {
        for worker in workers { worker.die() }
    }

    /// - Throws: `Fault` at the first difference.
    func take(_ steps: [ModelStep]) throws {
        for step in steps {
            try take(step)
            try compare()
        }
        try finish()
    }

    private func take(_ step: ModelStep) throws {
        // Attempts are told apart by when they began.
        clock.advance(by: .milliseconds(1))
        var chance = ModelChance(seed: step.dice)
        let worker = chance.pick(workers.count)
        let endpoint = model.endpoints[chance.pick(model.endpoints.count)].id
        switch step.kind {
        case .publish: try commit(worker, events(&chance))
        case .answer: try answer(worker, &chance)
        case .commit: try commit(worker)
        case .look: try look(worker)
        case .wait: clock.advance(by: [.seconds(60), .seconds(4000), .seconds(4 * 86_400)][chance.pick(3)])
        case .resend: try resend(&chance)
        case .replay: try replay(endpoint, &chance)
        case .copy: try copy(&chance)
        case .drop: try drop(&chance)
        case .disable: try change(endpoint, isFollowed: chance.pick(2) == 0) { $0.isDisabled = true }
        case .enable: try change(endpoint, isFollowed: chance.pick(2) == 0) { $0.isDisabled = false }
        case .remove: try change(endpoint, isFollowed: true) { $0.isRemoved = true }
        case .add: if model.endpoints.count < 6 { try addEndpoint(isOrdered: chance.pick(2) == 0) }
        case .rotate:
            _ = try EndpointSecrets.rotate(of: endpoint, sealer: Self.sealer, now: clock.now(), on: operating)
        case .takeOver: try workers[worker].takeOver()
        case .crash:
            workers[worker].die()
            try replace(worker)
        case .restart:
            settled(try workers[worker].end().results)
            try replace(worker)
        }
        for place in workers.indices { try watch(place) }
    }

    // MARK: - Steps

    private func replace(_ place: Int) throws {
        let worker = try ModelWorker(database, clock: clock, consumer: HoldingConsumer())
        if place < workers.count {
            (workers[place], seen[place]) = (worker, 0)
        } else {
            workers.append(worker)
            seen.append(0)
        }
    }

    private func addEndpoint(isOrdered: Bool) throws {
        let added = try EndpointTable.add(
            url: "https://example.com/", authorization: nil, environments: [], events: [], apps: [],
            ordering: isOrdered ? .purchase : .none, sealer: Self.sealer, now: clock.now(), on: operating)
        model.add(ReferenceModel.Endpoint(id: added.id, isOrdered: isOrdered))
    }

    /// Some of a few purchases, one about none, one that is known.
    private func events(_ chance: inout ModelChance) -> [NewEvent] {
        (0..<(1 + chance.pick(3))).map { _ in
            let number = made > 0 && chance.pick(8) == 0 ? chance.pick(made) : made
            if number == made { made += 1 }
            // The same number is the same event, whenever it is made.
            var own = ModelChance(seed: UInt64(number))
            let purchase = own.pick(Self.purchases + 1)
            let id = (0..<16).map { _ in UInt8(truncatingIfNeeded: own.next()) }
            return NewEvent(
                lane: Lane(number: Int16(purchase)), id: id, type: "RENEWAL", app: "demo", environment: .production,
                originalTransactionID: purchase == Self.purchases ? nil : "200\(purchase)",
                body: Array("{\"id\":\"\(UUIDText.upper(id))\",\"event\":\(number)}".utf8))
        }
    }

    private func commit(_ worker: Int, _ events: [NewEvent] = []) throws {
        let done = try workers[worker].commit(events)
        // The endpoint of one that is gone is disabled behind the transaction.
        settled(done.results) { $0.publish(done.events, at: clock.now()) }
    }

    private func settled(_ results: [AttemptResult], together: (inout ReferenceModel) -> Void = { _ in }) {
        let attempts = results.map { result in
            ReferenceModel.Attempt(
                delivery: result.delivery.id, attempts: result.delivery.attempts,
                roundStart: result.delivery.roundStart, outcome: result.outcome.inModel)
        }
        model.settle(attempts)
        together(&model)
        for attempt in attempts where attempt.outcome == .gone {
            guard let endpoint = model.deliveries[attempt.delivery]?.endpoint else { continue }
            model.change(endpoint) { $0.isDisabled = true }
        }
    }

    private func answer(_ worker: Int, _ chance: inout ModelChance) throws {
        let held = try workers[worker].inFlight()
        guard !held.isEmpty else { return }
        let status = [200, 200, 200, 200, 500, 500, 503, 429, 410][chance.pick(chance.pick(4) == 0 ? 9 : 8)]
        seen[worker] -= 1
        try workers[worker].answer(
            places(held)[chance.pick(held.count)], status, retryAfter: status == 429 ? 120 : nil)
    }

    /// Where each is, in an order that is the same each time: they come at once, and in any.
    private func places(_ held: [HoldingConsumer.Request]) -> [Int] {
        func rank(_ place: Int) -> (Int, String) {
            (model.endpoints.firstIndex { $0.id == held[place].endpoint } ?? 0, held[place].event)
        }
        return held.indices.sorted { rank($0) < rank($1) }
    }

    private func look(_ worker: Int) throws {
        if try workers[worker].look() { model.follow() }
    }

    private func change(
        _ endpoint: String, isFollowed: Bool, _ body: (inout ReferenceModel.Endpoint) -> Void
    ) throws {
        guard model.endpoint(endpoint)?.isRemoved == false else { return }
        model.change(endpoint, body)
        guard let changed = model.endpoint(endpoint) else { return }
        if changed.isRemoved {
            _ = try EndpointTable.remove(endpoint, now: clock.now(), on: operating)
        } else if changed.isDisabled {
            _ = try EndpointTable.disable(endpoint, reason: "x", on: operating)
        } else {
            _ = try EndpointTable.enable(endpoint, on: operating)
        }
        // A command may be cut short here; then the workers go on with it.
        guard isFollowed else { return }
        while try DeliveryTable.followEndpoints(in: Lane.all, now: clock.now(), on: operating) > 0 {}
        model.follow()
    }

    // MARK: - What must hold

    /// Looks at what a worker has sent since it was looked at last.
    private func watch(_ worker: Int) throws {
        let held = try workers[worker].inFlight()
        let crowded = Dictionary(grouping: held, by: \.endpoint).first { $0.value.count > Self.perEndpoint }
        if let crowded { throw Fault(description: "\(crowded.value.count) in flight to one endpoint") }
        for request in held.dropFirst(seen[worker]) {
            let known = model.deliveries.keys.first { id in
                model.deliveries[id]?.endpoint == request.endpoint && id == self.id(of: request, in: id.lane)
            }
            guard let id = known, let delivery = model.deliveries[id] else {
                throw Fault(description: "a request that belongs to no delivery")
            }
            guard workers[worker].enabled.contains(request.endpoint) else {
                throw Fault(description: "sent while its endpoint was known to be disabled")
            }
            guard request.sequence == delivery.sequence, let attempt = request.attempt,
                (1...delivery.attempts + 1).contains(attempt)
            else {
                throw Fault(
                    description: "number \(request.sequence ?? 0), attempt \(request.attempt ?? 0) of \(delivery)")
            }
            if arrived.insert(id).inserted, let objection = model.objection(toFirstArrivalOf: id) {
                throw Fault(description: "out of order: \(objection)")
            }
        }
        seen[worker] = held.count
    }

    private func id(of request: HoldingConsumer.Request, in lane: Lane) -> DeliveryID {
        DeliveryID(lane: lane, event: UUIDText.bytes(request.event) ?? [], endpoint: request.endpoint)
    }

    /// Every delivery is in the state that the model has it in.
    private func compare() throws {
        let rows = try operating.query("SELECT lane, id, state, attempts, round_start FROM entitled.delivery")
        guard rows.count == model.deliveries.count else {
            throw Fault(description: "\(rows.count) deliveries, not \(model.deliveries.count)")
        }
        for row in rows {
            let id = DeliveryID(lane: Lane(number: Int16(try row.int(0))), bytes: try row.uuid(1))
            let found = [try row.int(2), try row.int(3), try row.int(4)]
            // The round of what is over means nothing.
            guard let wanted = model.deliveries[id],
                found.prefix(2) == [Int64(wanted.state.rawValue), Int64(wanted.attempts)],
                !wanted.isOpen || found[2] == Int64(wanted.roundStart)
            else {
                throw Fault(
                    description: """
                        state, attempts and round are \(found) of \
                        \(model.deliveries[id].map { "\($0)" } ?? "what nobody made")
                        """)
            }
        }
    }

    /// Everybody is well again: whatever is open arrives.
    private func finish() throws {
        for place in workers.indices { try commit(place) }
        for endpoint in model.endpoints { try change(endpoint.id, isFollowed: true) { $0.isDisabled = false } }
        try workers[0].takeOver()
        for _ in 0..<200 where model.deliveries.values.contains(where: \.isOpen) {
            clock.advance(by: .seconds(4 * 86_400))
            try look(0)
            for place in workers.indices {
                while try !workers[place].inFlight().isEmpty {
                    try watch(place)
                    seen[place] -= 1
                    try workers[place].answer(0, 200)
                }
                try commit(place)
                try watch(place)
            }
            try compare()
        }
        let open = model.deliveries.values.filter(\.isOpen)
        guard open.isEmpty else { throw Fault(description: "\(open.count) are open for ever, such as \(open[0])") }
        for (id, delivery) in model.deliveries where delivery.state == .delivered && !arrived.contains(id) {
            throw Fault(description: "delivered without having arrived: \(delivery)")
        }
        try compareNumbers()
    }

    private func compareNumbers() throws {
        for row in try operating.query("SELECT id, sequence FROM entitled.event") {
            guard let wanted = model.sequences[try row.uuid(0)], wanted == (try row.optionalInt(1)) else {
                throw Fault(description: "another number of an event: \(try row.optionalInt(1) ?? 0)")
            }
        }
        let gaps = try operating.query(
            """
            SELECT d.attempts, count(DISTINCT a.number), max(a.number) FROM entitled.delivery d
            JOIN entitled.attempt a ON a.lane = d.lane AND a.delivery = d.id
            GROUP BY d.lane, d.id, d.attempts
            HAVING count(DISTINCT a.number) <> max(a.number) OR max(a.number) NOT IN (d.attempts, d.attempts + 1)
            """)
        guard gaps.isEmpty else { throw Fault(description: "numbers of attempts have gaps") }
    }
}

extension TransferOutcome {
    fileprivate var inModel: ReferenceModel.Attempt.Outcome {
        switch self {
        case .response(let response) where (200..<300).contains(response.status): .arrived
        case .response(let response) where response.status == 410: .gone
        case .failure(let failure) where failure.kind == .interrupted: .interrupted
        default: .failed
        }
    }
}
