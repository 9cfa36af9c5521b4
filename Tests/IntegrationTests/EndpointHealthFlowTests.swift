import Base
import Daemon
import Database
import Postgres
import TestSupport
import Testing
import Worker

/// Endpoints that hang, fail and come back, with a real worker.
@Suite struct EndpointHealthFlowTests {
    /// A consumer's answers that a test changes.
    private final class Answers: Sendable {
        private let table = Monitor<[String: Consumer.Answer]>([:])

        subscript(path: String) -> Consumer.Answer {
            get { table.read { $0[path] ?? .status(200) } }
            set { table.change { $0[path] = newValue } }
        }
    }

    private func insert(_ count: Int, for endpoint: String, _ installation: Installation) throws {
        let connection = try installation.database.connect(role: "entitled_worker")
        for start in stride(from: 0, to: count, by: 500) {
            let events = (start..<min(count, start + 500)).map { number in
                NewEvent(
                    lane: Lane(number: Int16(number % Lane.count)), id: (0..<16).map { _ in .random(in: 0...255) },
                    type: "RENEWAL", app: "demo", environment: .production, originalTransactionID: nil,
                    body: Array(#"{"event":{"type":"RENEWAL"}}"#.utf8))
            }
            for part in installation.groups.split(events, by: \.lane) {
                try connection.transaction {
                    _ = try EventTable.insert(part.elements, only: endpoint, now: SystemClock().now(), on: connection)
                }
            }
        }
    }

    private func health(_ id: String, _ installation: Installation) throws -> EndpointHealth {
        let connection = try installation.database.connect(role: "entitled_api")
        return try EndpointHealthTable.load(id: id, on: connection)[id] ?? EndpointHealth(endpoint: id)
    }

    private func untilFailures(_ count: Int64, of id: String, _ installation: Installation) throws {
        try eventually("\(count) failures of \(id) are written down") {
            try health(id, installation).streak?.failures == count
        }
    }

    /// Moves the beginning of a streak so many hours into the past.
    private func age(_ id: String, hours: Double, _ installation: Installation) throws {
        try installation.database.execute(
            """
            UPDATE entitled.endpoint_health SET failing_since_ms =
                (extract(epoch FROM clock_timestamp()) * 1000)::int8 - $2 WHERE endpoint = $1
            """, [.text(id), .int8(Int64(hours * 3_600_000))])
    }

    /// What operators were told of an endpoint, in the order in which it happened.
    private func told(_ consumer: Consumer, of id: String) -> [String] {
        consumer.requests.compactMap { request in
            guard let body = try? JSON(parsing: request.body), body["data"]?["endpoint_id"]?.stringValue == id else {
                return nil
            }
            let detail = body["data"]?["warning"]?.intValue.map { " \($0)" } ?? body["data"]?["code"].map(\.text)
            return (body["type"]?.stringValue ?? "") + (detail ?? "")
        }.sorted()
    }

    @Test func `one that never answers and has thousands waiting delays no other`() throws {
        let installation = try Installation()
        let (silent, quick) = (try Consumer { _, _ in .hold }, try Consumer())
        let (hung, well) = (try installation.addEndpoint(silent).id, try installation.addEndpoint(quick).id)
        try insert(3000, for: hung, installation)
        try insert(300, for: well, installation)
        let worker = try RunningWorker(installation, drainTimeout: .seconds(1), timeout: .seconds(120))
        defer { worker.stop(); silent.stop(); quick.stop() }
        try installation.untilDeliveries(300, .delivered)
        #expect(quick.requests.count == 300)
        #expect((1...8).contains(silent.requests.count))
        #expect(
            try installation.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0") == 3000)
    }

    @Test func `five days and ten failures disable an endpoint, and operators are told before, then and after`() throws
    {
        let installation = try Installation()
        let answers = Answers()
        let (consumer, operators) = (try Consumer { request, _ in answers[request.path] }, try Consumer())
        let paths = ["/young", "/old", "/rare"]
        for path in paths { answers[path] = .status(500) }
        let ids = try paths.map { try installation.addEndpoint(consumer, path: $0).id }
        let (young, old, rare) = (ids[0], ids[1], ids[2])
        for (id, count) in [(young, 12), (old, 12), (rare, 9)] { try insert(count, for: id, installation) }
        let worker = try RunningWorker(
            installation, disableAfter: .seconds(120 * 3600), operationsURL: operators.url("/operations"))
        defer { worker.stop(); consumer.stop(); operators.stop() }
        for (id, count) in [(young, Int64(12)), (old, 12), (rare, 9)] {
            try untilFailures(count, of: id, installation)
        }
        #expect(operators.requests.isEmpty)
        try age(young, hours: 119, installation)
        try age(rare, hours: 500, installation)
        try eventually("both warnings of both are told") { operators.requests.count >= 4 }
        try age(old, hours: 120.01, installation)
        try installation.untilDeliveries(12, .held)
        try eventually("everything is told") { operators.requests.count >= 7 }
        // In the look that disabled one of them the others were judged too.
        let endpoints = try EndpointTable.list(on: try installation.database.connect())
        #expect(Set(endpoints.filter { !$0.isEnabled }.map(\.id)) == [old])
        #expect(
            told(operators, of: old) == ["endpoint.disabled\"failing\"", "endpoint.failing 1", "endpoint.failing 2"])
        for id in [young, rare] { #expect(told(operators, of: id) == ["endpoint.failing 1", "endpoint.failing 2"]) }

        // What comes for it meanwhile is held; enabled again, it gets everything, with a new streak.
        try insert(1, for: old, installation)
        try installation.untilDeliveries(13, .held)
        answers["/old"] = .status(200)
        let connection = try installation.database.connect(role: "entitled_worker")
        #expect(try EndpointTable.enable(old, on: connection))
        try installation.untilDeliveries(13, .delivered)
        try eventually("it is well") { try health(old, installation).lastSuccess != nil }
        #expect(try health(old, installation).streak == nil)

        // One success ends a streak, and those who were warned are told.
        answers["/young"] = .status(200)
        try insert(1, for: young, installation)
        try eventually("it is told that it works again") {
            told(operators, of: young).contains("endpoint.recovered")
        }
        #expect(told(operators, of: old).count == 3 && told(operators, of: rare).count == 2)
        let mine = try #require(
            try EndpointTable.load(
                id: OperationsEndpoint.id, sealer: installation.sealer, now: SystemClock().now(), on: connection
            ).first)
        for request in operators.requests {
            let time = try #require(Int64(request.headers["webhook-timestamp"] ?? ""))
            let headers = WebhookSignature.headers(
                id: request.id, timestamp: time, body: request.body, secrets: mine.secrets)
            for (name, value) in headers { #expect(request.headers[name] == value) }
            #expect(request.path == "/operations")
        }
        #expect(Set(operators.requests.map(\.id)).count == operators.requests.count)
        #expect(consumer.requests.allSatisfy { $0.type == "RENEWAL" })
    }

    @Test func `an endpoint that asks for no more is disabled, and operators are told why`() throws {
        let installation = try Installation()
        let (consumer, operators) = (
            try Consumer { request, _ in
                request.path == "/gone" ? .status(410) : .status(400, headers: ["webhook-delivery": "disable"])
            }, try Consumer()
        )
        let gone = try installation.addEndpoint(consumer, path: "/gone").id
        let asked = try installation.addEndpoint(consumer, path: "/asked").id
        for id in [gone, asked] { try insert(3, for: id, installation) }
        let worker = try RunningWorker(installation, operationsURL: operators.url())
        defer { worker.stop(); consumer.stop(); operators.stop() }
        try installation.untilDeliveries(6, .held)
        _ = try operators.wait(2)
        #expect(told(operators, of: gone) == ["endpoint.disabled\"gone\""])
        #expect(told(operators, of: asked) == ["endpoint.disabled\"asked\""])
    }

    @Test func `an endpoint whose row is locked keeps no other waiting, and gets nothing after it asked for no more`()
        throws
    {
        let installation = try Installation()
        let (leaving, staying) = (try Consumer { _, _ in .status(410) }, try Consumer())
        let (gone, well) = (try installation.addEndpoint(leaving).id, try installation.addEndpoint(staying).id)
        try insert(1, for: well, installation)
        try insert(2, for: gone, installation)
        try installation.database.execute("UPDATE entitled.delivery SET next_ms = next_ms + 3600000")
        try insert(1, for: gone, installation)
        let other = try installation.database.connect(role: "entitled_worker")
        _ = try other.query("BEGIN")
        _ = try other.query("SELECT 1 FROM entitled.endpoint WHERE id = $1 FOR NO KEY UPDATE", [.text(gone)])
        let worker = try RunningWorker(installation)
        defer { worker.stop(); leaving.stop(); staying.stop() }
        try eventually("its answer is written down") {
            try installation.database.count("SELECT count(*) FROM entitled.attempt") == 1
        }
        try installation.database.execute("UPDATE entitled.delivery SET next_ms = next_ms - 3600000")
        try installation.untilDeliveries(1, .delivered)
        #expect(leaving.requests.count == 1)
        _ = try other.query("ROLLBACK")
        try installation.untilDeliveries(3, .held)
        #expect(leaving.requests.count == 1)
    }

    @Test func `what is left of an endpoint that was removed long ago is given up by who comes`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        let (id, other) = (try installation.addEndpoint(consumer).id, try installation.addEndpoint(consumer).id)
        for id in [id, other] { try insert(2, for: id, installation) }
        // Nobody ran meanwhile, or a clock was wrong.
        try installation.database.execute(
            "UPDATE entitled.endpoint SET removed_ms = created_ms - 172800000, disabled_reason = 'removed'")
        try installation.database.execute(
            "UPDATE entitled.delivery SET state = 3 WHERE endpoint = $1", [.text(other)])
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        try installation.untilDeliveries(4, .dead)
        #expect(consumer.requests.isEmpty)
    }

    @Test func `deliveries that are given up are told once, with their number`() throws {
        let installation = try Installation()
        let (consumer, operators) = (try Consumer { _, _ in .status(500) }, try Consumer())
        let id = try installation.addEndpoint(consumer).id
        try insert(40, for: id, installation)
        let worker = try RunningWorker(installation, schedule: [], operationsURL: operators.url())
        defer { worker.stop(); consumer.stop(); operators.stop() }
        try installation.untilDeliveries(40, .dead)
        let first = try #require(try operators.wait(1).first)
        let count = try #require((try JSON(parsing: first.body))["data"]?["count"]?.intValue)
        try eventually("all are counted") {
            try installation.database.count(
                "SELECT dead FROM entitled.endpoint_health WHERE endpoint = $1", [.text(id)])
                + count == 40
        }
        #expect(told(operators, of: id) == ["delivery.dead"])
        try installation.database.execute(
            "UPDATE entitled.endpoint_health SET dead_told_ms = dead_told_ms - 3600000, dead = greatest(dead, 1)")
        _ = try operators.wait(2)
        #expect(told(operators, of: id) == ["delivery.dead", "delivery.dead"])
    }

    @Test func `nothing is told before there is somebody to tell, and nothing waits for that`() throws {
        let installation = try Installation()
        let (consumer, operators) = (try Consumer(), try Consumer())
        let id = try installation.addEndpoint(consumer).id
        try installation.database.execute(
            "INSERT INTO entitled.endpoint_health (endpoint, dead, dead_newest) VALUES ($1, 1, '{dlv_1}')", [.text(id)])
        // Somebody seals, and does not end.
        let other = try installation.database.connect(role: "entitled_worker")
        _ = try other.query("BEGIN")
        _ = try other.query("LOCK TABLE entitled.sealing_key IN SHARE ROW EXCLUSIVE MODE")
        let worker = try RunningWorker(installation, operationsURL: operators.url())
        defer { worker.stop(); consumer.stop(); operators.stop() }
        try worker.log.wait(for: "lane cycle failed")
        try insert(1, for: id, installation)
        try installation.untilDeliveries(1, .delivered)
        _ = try other.query("ROLLBACK")
        #expect(try operators.wait(1).count == 1)
        #expect(told(operators, of: id) == ["delivery.dead"])
    }

    @Test func `an endpoint of operations that answers 410 is tried again, and nothing is told of it`() throws {
        let installation = try Installation()
        let (consumer, operators) = (try Consumer { _, _ in .status(410) }, try Consumer { _, _ in .status(410) })
        let id = try installation.addEndpoint(consumer).id
        try insert(1, for: id, installation)
        let worker = try RunningWorker(
            installation, schedule: [.milliseconds(100)], disableAfter: .seconds(60), operationsURL: operators.url())
        defer { worker.stop(); consumer.stop(); operators.stop() }
        try installation.untilDeliveries(1, .dead)
        #expect(operators.requests.map(\.attempt) == ["1", "2"] && Set(operators.requests.map(\.id)).count == 1)
        try eventually("its failures are written down") {
            try health(OperationsEndpoint.id, installation).streak?.failures == 2
        }
        let mine = try EndpointTable.list(id: OperationsEndpoint.id, on: try installation.database.connect()).first
        #expect(mine?.isEnabled == true)
    }
}
