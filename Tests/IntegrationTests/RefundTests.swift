import AppStoreAPI
import Base
import Daemon
import Database
import Duties
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// What Apple asks before it decides on a refund, and what it is told.
struct RefundTests {
    private static let now = SystemClock().now()
    private static let hour: Int64 = 3_600_000
    private static let policyAnswer = RefundAnswer(
        delivery: "DELIVERED", sampleContentProvided: false, preference: "DECLINE")

    /// An installation with a worker, and what its desk sends.
    private final class Scene: Sendable {
        let installation: Installation
        let worker: RunningWorker
        let sent = Monitor<[ConsumptionInformation]>([])
        let answer = Monitor<ServerAPIError?>(nil)
        let metrics = Metrics()
        let log = LogTape()

        init() throws {
            installation = try Installation()
            worker = try RunningWorker(installation)
            let database = installation.database
            try eventually("the first lane has an owner") {
                try database.count("SELECT count(*) FROM entitled.lane WHERE lane = 0 AND owner IS NOT NULL") == 1
            }
        }

        deinit { worker.stop() }

        func apply(_ notifications: [StoreNotification]) throws {
            let before = try installation.database.count("SELECT count(*) FROM entitled.notification")
            for notification in notifications { #expect(try installation.post(notification).status == 200) }
            try installation.untilApplied(before + Int64(notifications.count))
        }

        /// One look of the desk; by another worker than the owner of the first lane, if that is asked for.
        func look(_ policy: RefundPolicy, isOwner: Bool = true) throws {
            let owner = try installation.database.connect().query(
                "SELECT owner FROM entitled.lane WHERE lane = 0"
            ).one().uuid(0)
            let (sent, answer) = (sent, answer)
            let duty = RefundAnswerDuty(
                policies: ["demo": policy],
                senders: [
                    "demo": { _, information in
                        sent.change { $0.append(information) }
                        return answer.read { $0 }.map { .failure($0) } ?? .success(())
                    }
                ], logger: log.logger, metrics: metrics)
            let session = PostgresSession(installation.database.target(role: "entitled_worker"))
            defer { session.close() }
            let leader = isOwner ? owner : [UInt8](repeating: 9, count: 16)
            let run = DutyRun(session: session, leadership: Leadership(worker: leader, lease: .seconds(10)))
            if isOwner {
                _ = try duty.run(run)
            } else {
                #expect(throws: Leadership.Lost.self) { try duty.run(run) }
            }
        }

        var requests: [RefundRequest] {
            get throws {
                try RefundRequestTable.list(
                    atMost: 100, on: try installation.database.connect(role: "entitled_api")
                ).map(\.request)
            }
        }

        var request: RefundRequest {
            get throws { try #require(try requests.first) }
        }

        var count: Int { sent.read { $0.count } }

        /// So much time passes for what is asked and planned.
        func pass(_ milliseconds: Int64) throws {
            try installation.database.execute(
                """
                UPDATE entitled.refund_request
                SET asked_ms = asked_ms - $1, deadline_ms = deadline_ms - $1, next_ms = next_ms - $1
                """, [.int8(milliseconds)])
        }
    }

    private func life(_ seed: UInt64) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: seed)
        life.start(at: Installation.start)
        return life
    }

    @Test func `a policy answers each question once, however often it comes`() throws {
        let scene = try Scene()
        var life = life(1)
        life.requestConsumption(at: Self.now - 3 * Self.hour)
        life.requestConsumption(at: Self.now - 2 * Self.hour)
        try scene.apply(life.notifications)
        #expect(try scene.request.state == .open)
        #expect(try scene.request.repeats == 1)
        try scene.look(.auto(Self.policyAnswer))
        #expect(try scene.request.state == .sent)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications.suffix(1))
        for _ in 0..<3 { try scene.look(.auto(Self.policyAnswer)) }
        #expect(
            scene.sent.read { $0 } == [
                ConsumptionInformation(
                    customerConsented: true, delivery: .delivered, sampleContentProvided: false, preference: .decline)
            ])
        let request = try scene.request
        #expect(request.state == .sent && request.repeats == 2)
        #expect(request.answeredBy == "policy" && request.asked == Self.now - 3 * Self.hour)
        #expect(try scene.requests.count == 1)
    }

    @Test func `where nobody answers nothing is sent, and only what is given is`() throws {
        let scene = try Scene()
        var life = life(2)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications)
        try scene.look(.ask)
        try scene.look(.never)
        #expect(scene.count == 0)
        let given = RefundAnswer(
            delivery: "UNDELIVERED_OTHER", sampleContentProvided: true, consumed: 0, preference: "GRANT_FULL")
        let key = try scene.request.key
        let connection = try scene.installation.database.connect(role: "entitled_worker")
        #expect(try RefundRequestTable.answer(key, given, by: "ann", now: Self.now, on: connection))
        try scene.look(.ask)
        #expect(scene.sent.read { $0.map(\.delivery) } == [.other])
        #expect(try scene.request.answeredBy == "ann")
        #expect(try !RefundRequestTable.answer(key, given, by: "bob", now: Self.now, on: connection))
    }

    @Test func `what Apple does not take now is sent again, the same, and not after the time is over`() throws {
        let scene = try Scene()
        var life = life(3)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications)
        scene.answer.change { $0 = .unreachable("nobody there") }
        try scene.look(.auto(Self.policyAnswer))
        try scene.look(.auto(Self.policyAnswer))
        #expect(scene.count == 1)
        #expect(try scene.request.state == .ready)
        #expect(try scene.request.failure?.contains("nobody there") == true)
        try scene.pass(61_000)
        try scene.look(.ask)
        #expect(scene.count == 2)
        try scene.pass(10 * Self.hour + 50 * 60_000)
        try scene.look(.ask)
        #expect(scene.count == 3)
        #expect(try scene.request.state == .failed)
        try scene.pass(Self.hour)
        try scene.look(.ask)
        #expect(scene.count == 3)
        #expect(Set(scene.sent.read { $0.map(\.preference) }) == [.decline])
    }

    @Test func `what Apple refuses for good is not sent again`() throws {
        let scene = try Scene()
        var life = life(4)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications)
        scene.answer.change { $0 = .malformed("no") }
        try scene.look(.auto(Self.policyAnswer))
        try scene.pass(2 * Self.hour)
        try scene.look(.auto(Self.policyAnswer))
        #expect(scene.count == 1)
        #expect(try scene.request.state == .failed)
    }

    @Test func `an answer whose sender died is sent again by the next owner, and not before`() throws {
        let scene = try Scene()
        var life = life(5)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications)
        let connection = try scene.installation.database.connect(role: "entitled_worker")
        try RefundRequestTable.answerAll(of: "demo", Self.policyAnswer, now: Self.now, on: connection)
        let claimed = try RefundRequestTable.claim(
            of: ["demo"], atMost: 8, for: 600_000, now: Self.now, on: connection)
        #expect(claimed.map(\.state) == [.sending])
        try scene.look(.ask)
        #expect(scene.count == 0)
        try scene.pass(600_001)
        try scene.look(.ask)
        #expect(scene.count == 1)
        #expect(try scene.request.state == .sent)
    }

    @Test func `only the owner of the first lane sends`() throws {
        let scene = try Scene()
        var life = life(6)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications)
        try scene.look(.auto(Self.policyAnswer), isOwner: false)
        #expect(scene.count == 0)
        #expect(try scene.request.state == .open)
    }

    @Test func `what is decided is not answered, whatever comes first, and what is asked anew is`() throws {
        let scene = try Scene()
        var life = life(7)
        life.requestConsumption(at: Self.now - 5 * Self.hour)
        life.declineRefund(at: Self.now - 4 * Self.hour)
        let told = life.notifications
        try scene.apply([told[0], told[2], told[1]])
        let request = try scene.request
        #expect(request.decided == Self.now - 4 * Self.hour && request.decision == "declined")
        try scene.look(.auto(Self.policyAnswer))
        #expect(scene.count == 0)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply(life.notifications.suffix(1))
        #expect(try scene.request.decided == nil)
        try scene.look(.auto(Self.policyAnswer))
        #expect(scene.count == 1)
        #expect(try scene.requests.count == 1)
    }

    @Test func `an older question that comes late does not ask again`() throws {
        let scene = try Scene()
        var life = life(8)
        life.requestConsumption(at: Self.now - 3 * Self.hour)
        life.requestConsumption(at: Self.now - Self.hour)
        try scene.apply([life.notifications[0], life.notifications[2]])
        try scene.look(.auto(Self.policyAnswer))
        try scene.apply([life.notifications[1]])
        try scene.look(.auto(Self.policyAnswer))
        #expect(scene.count == 1)
        #expect(try scene.request.asked == Self.now - 3 * Self.hour)
        #expect(try scene.request.state == .sent)
    }

    @Test func `consumers that name the type are told once, with the deadline`() throws {
        let scene = try Scene()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let naming = try scene.installation.addEndpoint(consumer, events: ["CONSUMPTION_REQUEST"])
        _ = try scene.installation.addEndpoint(consumer, path: "/all")
        var life = life(10)
        life.requestConsumption(reason: "OTHER", at: Self.now - 3 * Self.hour)
        life.requestConsumption(reason: "LEGAL", at: Self.now - Self.hour)
        try scene.apply([life.notifications[0], life.notifications[2]])
        try scene.look(.never)
        try scene.look(.ask)
        // An older one that comes late makes it a question of before.
        try scene.apply([life.notifications[1]])
        try scene.look(.ask)
        #expect(try scene.request.asked == Self.now - 3 * Self.hour)
        let told = try scene.installation.database.texts(
            "SELECT id::text FROM entitled.event WHERE type = 'CONSUMPTION_REQUEST'")
        #expect(told.count == 1)
        let events = try consumer.wait(2).filter { $0.type == "CONSUMPTION_REQUEST" }
        #expect(
            try scene.installation.database.texts(
                "SELECT endpoint FROM entitled.delivery WHERE event_type = 'CONSUMPTION_REQUEST'") == [naming.id])
        let event = try #require(events.first?.event)
        #expect(events.map(\.id) == told.map { $0.uppercased() })
        #expect(event["transaction_id"]?.stringValue == life.latest.id)
        #expect(event["app_user_id"]?.stringValue == life.account.token)
        #expect(event["consumption_request_reason"]?.stringValue == "LEGAL")
        #expect(event["deadline_at_ms"]?.intValue == Self.now + 11 * Self.hour)
    }

    @Test func `two hours before the time is over there is one warning, unless nobody means to answer`() throws {
        let scene = try Scene()
        var life = life(9)
        life.requestConsumption(at: Self.now - 9 * Self.hour)
        try scene.apply(life.notifications)
        try scene.look(.ask)
        #expect(!scene.log.text.contains("deadline approaching"))
        try scene.pass(Self.hour + 60_000)
        try scene.look(.never)
        #expect(!scene.log.text.contains("deadline approaching"))
        for _ in 0..<3 { try scene.look(.ask) }
        #expect(scene.log.text.split(separator: "deadline approaching").count == 2)
        #expect(scene.metrics.exposition().contains(#"entitled_consumption_requests_closing_total{app="demo"} 1"#))
    }

    @Test(
        arguments: [
            (1, 0, 100_000_000, 60_000), (2, 5, 100_000_000, 300_005), (3, 0, 100_000_000, 900_000),
            (4, 0, 100_000_000, 1_800_000), (5, 0, 100_000_000, 3_600_000), (99, 0, 100_000_000, 3_600_000),
            (0, 0, 100_000_000, 60_000), (1, 0, 60_001, 60_000), (1, 0, 60_000, nil), (9, 50, 10, nil),
        ] as [(Int64, Int64, Int64, Int64?)])
    func `the waits grow, and none goes over the deadline`(
        attempts: Int64, now: Int64, deadline: Int64, next: Int64?
    ) {
        #expect(RefundSchedule.next(after: attempts, now: now, deadline: deadline) == next)
    }
}
