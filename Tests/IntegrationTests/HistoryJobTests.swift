import AppStoreAPI
import Base
import Crypto
import Daemon
import Database
import Duties
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Replays of Apple's history that operators ask for, with a simulated Apple.
@Suite struct HistoryJobTests {
    private static let worker = [UInt8](repeating: 9, count: 16)

    private static func notifications(_ count: UInt64) -> [StoreNotification] {
        (0..<count).map { number in
            var life = SubscriberLife(app: Installation.app, seed: 91, number: number)
            return life.start(lasts: 30 * StoreProduct.day, at: SystemClock().now() - 3_600_000 - Int64(number) * 1000)
        }
    }

    private func ask(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON, _ installation: Installation
    ) throws -> Int64 {
        let owner = try installation.database.connect(role: "entitled_worker")
        if try ConsoleUserTable.find("carl", on: owner) == nil {
            _ = try ConsoleUserTable.add("carl", .operator, now: 1, on: owner)
        }
        let request = ChangeTable.Request(
            kind, target, parameters: parameters, reason: "after the outage",
            by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
            idempotencyKey: Hex.encode(SecureRandom.bytes(8)), fingerprint: [UInt8](repeating: 1, count: 32))
        let answer = try ChangeTable.ask(
            request, on: try installation.database.connect(role: "entitled_console"))
        guard case .asked(let id) = answer else { throw TestFailure("\(answer)") }
        return id
    }

    private func replay(_ apple: PlayedHistory, days: Int64 = 2, isDry: Bool = false) -> HistoryReplay {
        let now = SystemClock().now()
        return HistoryReplay(
            HistoryFilter(apple.place), from: now - days * StoreProduct.day, until: now, isDry: isDry)
    }

    private func run(_ id: Int64, _ apple: PlayedHistory, _ installation: Installation) throws -> Job {
        let reader = apple.reader
        return try JobDriver(id, kinds: HistoryReplayWork.kinds { _ in reader }).attend(
            on: try installation.database.connect(role: "entitled_worker"), rest: { _ in }, isEnough: { _, _ in false })
    }

    @Test func `what is missing is counted, then stored, and the audit has both`() throws {
        let installation = try Installation()
        let apple = try PlayedHistory(installation, Self.notifications(25))
        func stored() throws -> Int64 { try installation.database.count("SELECT count(*) FROM entitled.notification") }
        let before = try stored()
        let dry = try run(
            ask(
                .replayHistory, "demo/\(apple.place.environment.rawValue)", replay(apple, isDry: true).json,
                installation),
            apple, installation)
        #expect(dry.state == .done && dry.counts == JobCounts(matched: 25, queued: 25, skipped: 0), "\(dry)")
        #expect(try stored() == before)
        let done = try run(
            ask(.replayHistory, "demo/\(apple.place.environment.rawValue)", replay(apple).json, installation), apple,
            installation)
        #expect(done.state == .done && done.counts == JobCounts(matched: 25, queued: 25, skipped: 0), "\(done)")
        #expect(try stored() == before + 25)
        let again = try run(
            ask(
                .replayHistory, "demo/\(apple.place.environment.rawValue)", replay(apple, isDry: true).json,
                installation),
            apple, installation)
        #expect(again.counts.queued == 0)
        #expect(
            try installation.database.count(
                "SELECT count(*) FROM entitled.audit WHERE kind = 'replay_history' AND outcome = 'done'") == 3)
    }

    @Test func `the worker refuses a span that was forged, and one of an outage that was none`() throws {
        let installation = try Installation()
        let apple = try PlayedHistory(installation, [])
        let target = "demo/\(apple.place.environment.rawValue)"
        let right = replay(apple).json
        func ending(_ kind: ChangeKind, _ target: String, _ changes: [String: JSON]) throws -> String {
            let members = (right.members ?? []).filter { changes[$0.name] == nil }
            let forged = JSON.object(members + changes.map { JSON.Member(name: $0.key, value: $0.value) })
            let job = try run(ask(kind, target, forged, installation), apple, installation)
            #expect(job.state == .failed, "\(changes)")
            return job.error ?? ""
        }
        for changes: [String: JSON] in [
            ["from_ms": .int(-1)], ["from_ms": .null], ["from_ms": .string("-infinity")],
            ["until_ms": .string("infinity")],
            ["until_ms": .int(.max)], ["types": .string("")], ["types": .array([.string(",")])],
            ["only_failures": .string("no")],
            ["types": .strings((0...HistoryReplay.mostTypes).map { "TYPE_\($0)" })],
        ] {
            #expect(try ending(.replayHistory, target, changes).contains("cannot be read"), "\(changes)")
        }
        #expect(
            try ending(.replayHistory, target, ["until_ms": .int(253_402_300_000_000)]) == "Its period is not over.")
        let (now, day) = (SystemClock().now(), StoreProduct.day)
        #expect(
            try ending(.replayHistory, target, ["from_ms": .int(now - 200 * day), "until_ms": .int(now - 190 * day)])
                .contains("Apple does not keep its history of that time any more"))
        #expect(try ending(.replayHistory, "other/Production", [:]).contains("and not its target"))
        #expect(try ending(.outageLook, "7", ["outage": .int(7)]).contains("outage of the last 45 days has"))
        #expect(apple.calls.isEmpty)
    }

    @Test func `other jobs go on while Apple is slow`() throws {
        let installation = try Installation()
        let apple = try PlayedHistory(
            installation, Self.notifications(3), faults: [StoreFault(.slow, path: "/notifications/history", seconds: 8)]
        )
        let reader = apple.reader
        let owner = try installation.database.connect(role: "entitled_worker")
        try installation.database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(Self.worker)])
        let history = try ask(
            .replayHistory, "demo/\(apple.place.environment.rawValue)", replay(apple).json, installation)
        func service(_ duty: sending some Duty) -> any Service {
            DutyService(
                duty, session: PostgresSession(installation.database.target(role: "entitled_worker")),
                leadership: Leadership(worker: Self.worker, lease: .seconds(10)), logger: .silent, metrics: Metrics())
        }
        let cancellation = Cancellation()
        let services = [
            service(JobDuty(worker: Self.worker, kinds: WebhookReplayWork.kinds, logger: .silent)),
            service(
                HistoryJobDuty(
                    worker: Self.worker, kinds: HistoryReplayWork.kinds({ _ in reader }, cancellation: cancellation),
                    cancellation: cancellation, logger: .silent)),
        ]
        for service in services { try service.start() }
        defer { for service in services { service.drain(until: .now + .seconds(5)) } }
        try eventually(timeout: .seconds(10), "Apple is asked") {
            try installation.database.count("SELECT count(*) FROM entitled.job WHERE driver IS NOT NULL") == 1
        }
        let endpoint = try EndpointTable.add(
            url: "https://example.com/hooks", authorization: nil, environments: [], events: [], apps: [],
            ordering: .none, sealer: SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))]), now: 1, on: owner
        ).id
        let began = ContinuousClock.now
        let webhooks = try ask(
            .replayWebhooks, endpoint,
            WebhookReplay(endpoint: endpoint, mode: .missing, since: 1, until: SystemClock().now(), types: []).json,
            installation)
        try eventually(timeout: .seconds(6), "the other job is done") {
            try JobTable.find(webhooks, on: owner)?.state == .done
        }
        #expect(ContinuousClock.now - began < .seconds(6))
        #expect(try JobTable.find(history, on: owner)?.state == .running)
        try eventually(timeout: .seconds(40), "the history is read") {
            try JobTable.find(history, on: owner)?.state == .done
        }
        #expect(try JobTable.find(history, on: owner)?.counts.queued == 3)
    }
}
