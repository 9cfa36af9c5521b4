import Base
import Database
import Duties
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Endpoints that get Apple's notifications as they came.
@Suite struct RawEndpointTests {
    private let installation: Installation
    private let connection: PostgresConnection

    init() throws {
        installation = try Installation()
        connection = try installation.database.connect(role: "entitled_worker")
    }

    @discardableResult
    private func add(
        _ consumer: Consumer, events: [String] = [], environments: [StoreEnvironment] = [], apps: [String] = [],
        schedule: [Int64]? = nil
    ) throws -> String {
        try EndpointTable.add(
            url: consumer.url(), authorization: nil, environments: environments, events: events, apps: apps,
            retrySchedule: schedule.map(RetrySchedule.init(waits:)), format: .raw, sealer: installation.sealer,
            now: SystemClock().now(), on: connection
        ).id
    }

    /// Has it stored; the body as the store sent it.
    @discardableResult
    private func post(_ notification: StoreNotification) throws -> [UInt8] {
        let body = try Installation.signer.sign(notification).body
        #expect(installation.post(body).status == 200)
        return body
    }

    private func deliveries(_ endpoint: String? = nil) throws -> [DeliverySummary] {
        try DeliveryQuery.list(.init(endpoint: endpoint), .init(limit: 100), on: connection).rows
    }

    private func reprocess(_ uuid: String) throws {
        let outcome = try NotificationRepair.reprocess(uuid: uuid, app: nil, environment: nil, on: connection)
        #expect(outcome == .queued)
    }

    /// A notification whose transaction is another app's: it is held.
    private static func foreign(_ notification: StoreNotification) -> StoreNotification {
        var changed = notification
        if case .data(let fields, let transaction?, let renewal, let status) = notification.content {
            let members = (transaction.members ?? []).map { member in
                member.name == "bundleId" ? JSON.Member(name: "bundleId", value: .string("com.example.other")) : member
            }
            changed.content = .data(fields, transaction: .object(members), renewal: renewal, status: status)
        }
        return changed
    }

    @Test func `every notification goes on byte for byte under Apple's UUID, whatever becomes of it here`() throws {
        let (raw, events) = (try Consumer(), try Consumer())
        let endpoint = try add(raw)
        _ = try installation.addEndpoint(events)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); raw.stop(); events.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 81)
        var notices = StoreNotices(app: Installation.app, seed: 81)
        var kinds = [life.start(at: Installation.start), notices.test(at: Installation.start)]
        kinds.append(notices.fromTheFuture(at: Installation.start))
        kinds.append(notices.extensionSummary(at: Installation.start))
        kinds.append(Self.foreign(life.renew(at: Installation.start + 30 * StoreProduct.day)))
        var unnamed = notices.test(at: Installation.start)
        unnamed.uuid = "no uuid"
        kinds.append(unnamed)
        let sent = try kinds.map { (uuid: $0.uuid, type: $0.type, body: try post($0)) }
        let requests = try raw.wait(kinds.count)
        try installation.untilApplied(Int64(kinds.count))
        #expect(try installation.heldReasons().count == 1)
        for notification in sent {
            let request = try #require(requests.first { $0.body == notification.body }, "\(notification.type)")
            #expect(request.headers["content-type"] == "application/json" && request.attempt == "1")
            let isNamed = notification.uuid != "no uuid"
            #expect((request.id == notification.uuid) == isNamed)
            #expect(UUIDText.bytes(request.id) != nil)
        }
        #expect(requests.count == kinds.count)
        try installation.untilDeliveries(Int64(kinds.count) + 1, .delivered)
        #expect(try Set(deliveries(endpoint).map(\.eventType)) == Set(kinds.map(\.type)))
        #expect(try events.wait(1).map(\.type) == ["INITIAL_PURCHASE"])
    }

    @Test func `filters are of Apple's types, of apps and of environments`() throws {
        let consumers = try (0..<4).map { _ in try Consumer() }
        try add(consumers[0], events: ["SUBSCRIBED"])
        try add(consumers[1], environments: [.sandbox])
        try add(consumers[2], apps: ["other"])
        try add(consumers[3], events: ["TEST", "SUBSCRIBED"], environments: [.production], apps: ["demo"])
        let worker = try RunningWorker(installation)
        defer {
            worker.stop()
            consumers.forEach { $0.stop() }
        }
        var production = SubscriberLife(app: Installation.app, seed: 82)
        var notices = StoreNotices(app: Installation.app, seed: 82)
        var sandboxNotices = StoreNotices(app: Installation.sandbox, seed: 83)
        let started = try post(production.start(at: Installation.start))
        let test = try post(notices.test(at: Installation.start))
        let sandboxTest = try post(sandboxNotices.test(at: Installation.start))
        try installation.untilApplied(3)
        try installation.untilDeliveries(4, .delivered)
        #expect(consumers[0].requests.map(\.body) == [started])
        #expect(consumers[1].requests.map(\.body) == [sandboxTest])
        #expect(consumers[2].requests.isEmpty)
        #expect(Set(consumers[3].requests.map(\.body)) == [started, test])
    }

    @Test func `neither a duplicate, nor doing it again, nor a held one's retry makes a second delivery`() throws {
        let consumer = try Consumer()
        try add(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 84)
        let (good, bad) = (life.start(at: Installation.start), Self.foreign(life.renew(at: Installation.start + 1000)))
        try post(good)
        try post(good)
        try post(bad)
        try installation.untilApplied(2)
        _ = try consumer.wait(2)
        try installation.untilDeliveries(2, .delivered)
        try reprocess(good.uuid)
        try installation.untilApplied(2)
        try installation.database.execute("UPDATE entitled.held_notification SET next_ms = 0")
        try eventually("the held one is tried again") {
            try installation.database.count("SELECT attempts FROM entitled.held_notification") == 2
        }
        try reprocess(bad.uuid)
        try installation.untilApplied(2)
        #expect(try deliveries().map(\.attempts) == [1, 1])
        #expect(consumer.requests.count == 2)
    }

    @Test func `it is tried again under the same id, given up, shown and sent once more`() throws {
        let consumer = try Consumer { _, before in .status(before < 3 ? 503 : 200) }
        let endpoint = try add(consumer, schedule: [100, 100])
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 85)
        let notification = life.start(at: Installation.start)
        let body = try post(notification)
        try installation.untilDeliveries(1, .dead)
        let dead = try #require(try deliveries(endpoint).first)
        #expect(dead.attempts == 3 && dead.event == notification.uuid && dead.eventType == "SUBSCRIBED")
        let shown = try #require(
            try DeliveryQuery.show(dead.id, on: try installation.database.connect(role: "entitled_api")))
        #expect(shown.body == body && shown.attempts.count == 3)
        #expect(try DeliveryRepair.resend(dead.id, now: SystemClock().now(), on: connection) == .reopened)
        try installation.untilDeliveries(1, .delivered)
        let requests = consumer.requests
        #expect(requests.map(\.attempt) == ["1", "2", "3", "4"])
        #expect(requests.allSatisfy { $0.body == body && $0.id == notification.uuid })
    }

    @Test func `what was given up is replayed as long as it is kept, and only then sent again`() throws {
        let consumer = try Consumer { _, before in .status(before < 3 ? 503 : 200) }
        let endpoint = try add(consumer, schedule: [])
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var notices = StoreNotices(app: Installation.app, seed: 90)
        let tests = (0..<3).map { _ in notices.test(at: Installation.start) }
        for test in tests { try post(test) }
        try installation.untilDeliveries(3, .dead)
        try installation.database.execute(
            "DELETE FROM entitled.notification WHERE uuid = $1", [.text(tests[0].uuid)])
        let gone = try #require(try deliveries(endpoint).first { $0.event == tests[0].uuid })
        guard case .gone(let reason) = try DeliveryRepair.resend(gone.id, now: SystemClock().now(), on: connection)
        else { throw TestFailure("what is gone was sent again") }
        #expect(reason.contains("is gone"))
        let kept = try #require(try deliveries(endpoint).first { $0.event == tests[1].uuid })
        let copied = try EventCopy.send(
            kept.id, as: [UInt8](repeating: 7, count: 16), now: SystemClock().now(), on: connection)
        #expect(copied == .isNotification)
        func replay(_ mode: WebhookReplay.Mode) throws -> Job {
            // Not watched (`guardFourGroups`): a replay changes deliveries of several groups in one transaction.
            let connection = try installation.database.connect()
            let replay = WebhookReplay(endpoint: endpoint, mode: mode, since: 0, until: nil, types: ["TEST"])
            let job = try JobTable.open(
                replay.request(since: mode.rawValue, until: nil, rate: nil, madeBy: "tester"), on: connection
            ).job
            return try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
                on: connection, rest: { _ in }, isEnough: { _, _ in false })
        }
        #expect(try replay(.failed).counts == JobCounts(matched: 2, queued: 2, skipped: 1))
        try installation.untilDeliveries(2, .delivered)
        #expect(Set(consumer.requests.dropFirst(3).map(\.id)) == Set(tests[1...].map(\.uuid)))
        for mode in [WebhookReplay.Mode.missing, .all] {
            let job = try replay(mode)
            #expect(job.state == .failed && job.error?.contains("only --failed") == true)
        }
    }

    @Test func `the payload is kept once, with the notification`() throws {
        let consumer = try Consumer()
        try add(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var notices = StoreNotices(app: Installation.app, seed: 86)
        try post(notices.test(at: Installation.start))
        _ = try consumer.wait(1)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") == 0)
        #expect(try installation.database.count("SELECT max(pg_column_size(d.*)) FROM entitled.delivery d") < 300)
    }

    @Test func `what is gone or damaged is given up, and says why`() throws {
        let consumer = try Consumer()
        let endpoint = try add(consumer)
        #expect(try EndpointTable.disable(endpoint, reason: "by hand", on: connection))
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var notices = StoreNotices(app: Installation.app, seed: 87)
        let (gone, damaged, good) = (
            notices.test(at: Installation.start), notices.test(at: Installation.start),
            notices.test(at: Installation.start)
        )
        for notification in [gone, damaged, good] { try post(notification) }
        try installation.untilApplied(3)
        try installation.untilDeliveries(3, .held)
        try installation.database.execute(
            "DELETE FROM entitled.notification WHERE uuid = $1", [.text(gone.uuid)])
        try installation.database.execute(
            "UPDATE entitled.notification SET payload = '\\x00' WHERE uuid = $1", [.text(damaged.uuid)])
        #expect(try EndpointTable.enable(endpoint, on: connection))
        try installation.untilDeliveries(2, .dead)
        try installation.untilDeliveries(1, .delivered)
        let reasons = Dictionary(try deliveries(endpoint).map { ($0.event, $0.reason ?? "") }) { first, _ in first }
        #expect(reasons[gone.uuid]?.contains("is gone") == true)
        #expect(reasons[damaged.uuid]?.contains("cannot be restored") == true)
        #expect(consumer.requests.map(\.id) == [good.uuid])
    }

    @Test func `an endpoint that comes later gets what comes after it, also when old ones are applied again`() throws {
        var notices = StoreNotices(app: Installation.app, seed: 88)
        let (old, new) = (notices.test(at: Installation.start), notices.test(at: Installation.start))
        let worker = try RunningWorker(installation)
        try post(old)
        try installation.untilApplied(1)
        let consumer = try Consumer()
        defer { worker.stop(); consumer.stop() }
        let endpoint = try add(consumer)
        // As if the first had come two hours before.
        try installation.database.execute("UPDATE entitled.endpoint SET created_ms = created_ms + 7200000")
        try reprocess(old.uuid)
        try installation.untilApplied(1)
        try installation.database.execute("UPDATE entitled.endpoint SET created_ms = created_ms - 7200000")
        try post(new)
        #expect(try consumer.wait(1).map(\.id) == [new.uuid])
        #expect(try deliveries(endpoint).map(\.event) == [new.uuid])
    }

    @Test func `the same UUID in two environments is two notifications`() throws {
        let consumer = try Consumer()
        try add(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var notices = StoreNotices(app: Installation.app, seed: 89)
        var sandboxNotices = StoreNotices(app: Installation.sandbox, seed: 90)
        var (first, second) = (notices.test(at: Installation.start), sandboxNotices.test(at: Installation.start))
        first.uuid = "0a0b0c0d-0000-4000-8000-00000000000f"
        second.uuid = first.uuid
        let bodies = try [post(first), post(second)]
        #expect(try Set(consumer.wait(2).map(\.body)) == Set(bodies))
        #expect(consumer.requests.allSatisfy { $0.id == first.uuid })
    }
}
