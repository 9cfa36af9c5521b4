import AppStoreAPI
import Base
import Daemon
import Foundation
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

@testable import Database
@testable import Duties

/// Apple is asked how purchases stand of which news is missing.
@Suite struct StatusPollTests {
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000
    private static let day = StoreProduct.day

    /// What Apple knows, of which we were told the first part only; a worker that was told, and who asks.
    private final class Scene {
        let installation: Installation
        let worker: RunningWorker
        let apple: PlayedHistory
        private let connection: PostgresConnection
        private var statusPoll: StatusPoll

        init(
            told: [StoreNotification], untold: [StoreNotification] = [], apple known: [StoreNotification]? = nil,
            faults: [StoreFault] = [], hasKey: Bool = true, callsPerHour: Int64 = 36_000,
            before: (Installation) throws -> Void = { _ in }
        ) throws {
            installation = try Installation()
            try before(installation)
            let place = AppScope(app: "demo", environment: .production)
            worker = try RunningWorker(
                installation,
                reconciliation: LaneWorkerConfiguration.Reconciliation(
                    places: hasKey ? [place] : [], interval: .seconds(3600)))
            apple = try PlayedHistory(installation, known ?? told + untold, faults: faults)
            connection = try installation.database.connect(role: "entitled_worker")
            statusPoll = StatusPoll(
                Scene.configuration(apple, callsPerHour), Cancellation(), apple.log.logger, apple.metrics)
            try worker.log.wait(for: "lanes gained")
            try installation.postAll(told)
            try installation.untilApplied(Int64(told.count))
        }

        deinit { worker.stop() }

        private static func configuration(
            _ apple: PlayedHistory, _ callsPerHour: Int64
        ) -> ReconciliationDutyConfiguration {
            ReconciliationDutyConfiguration(
                interval: .seconds(3600), clock: SystemClock(), duties: [(apple.place, apple.reader)],
                statusCallsPerHour: callsPerHour,
                foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        }

        /// As another process of ours would, that owns nothing.
        func sweepAsStranger() throws {
            var statusPoll = StatusPoll(
                Scene.configuration(apple, 36_000), Cancellation(), apple.log.logger, apple.metrics)
            _ = try statusPoll.take(Scene.leadership([UInt8](repeating: 7, count: 16)), on: connection)
        }

        /// The time of every timer and every question has come.
        func wake() throws {
            try installation.database.execute("UPDATE entitled.purchase SET wake_ms = 1")
            try eventually("the timers were looked at") {
                try installation.database.count("SELECT count(*) FROM entitled.purchase WHERE wake_ms = 1") == 0
            }
        }

        private static func leadership(_ worker: [UInt8]) -> Leadership {
            Leadership(worker: worker, lease: .seconds(10))
        }

        func turn() throws { _ = try statusPoll.take(Scene.leadership(worker.id), on: connection) }

        /// Asks once more about everything that is missing.
        func ask(times: Int = 1) throws {
            try installation.database.execute("UPDATE entitled.status_look SET next_ms = least(next_ms, 1)")
            for _ in 0..<times { try turn() }
            try eventually("the answers are applied") {
                try installation.database.count("SELECT count(*) FROM entitled.pending") == 0
            }
        }

        /// The only one, as the log has it.
        func answer() throws -> NotificationQuery.Whole? {
            let uuids = try installation.database.texts("SELECT uuid FROM entitled.notification WHERE source = 3")
            guard let uuid = uuids.first, uuids.count == 1 else { return nil }
            return try NotificationQuery.find(
                uuid: uuid, app: nil, environment: nil,
                on: try installation.database.connect(role: "entitled_api")
            ).whole.first
        }

        var looks: Int64 {
            get throws { try installation.database.count("SELECT count(*) FROM entitled.status_look") }
        }
        var next: Int64 {
            get throws { try installation.database.count("SELECT min(next_ms) FROM entitled.status_look") }
        }
        var events: [String] {
            get throws { try installation.database.texts("SELECT type FROM entitled.event ORDER BY type") }
        }
        /// The answers of Apple's that became facts; what they carry says nothing new but when it was signed.
        var answers: Int64 {
            get throws {
                try installation.database.count("SELECT count(*) FROM entitled.fact WHERE source = 3 AND kind = 3")
            }
        }
    }

    private static func life(_ number: UInt64 = 1) -> SubscriberLife {
        SubscriberLife(app: Installation.app, seed: 96, number: number)
    }

    @Test func `a renewal that was missed is found, and told like any other`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        let renewed = life.renew(lasts: 5 * Self.day, at: now - Self.hour)
        let scene = try Scene(told: [bought], untold: [renewed])
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try scene.installation.addEndpoint(consumer)
        #expect(try scene.looks == 1)
        try scene.ask()
        try scene.installation.untilDeliveries(1, .delivered)
        #expect(try scene.events == ["INITIAL_PURCHASE", "RENEWAL"])
        #expect(try scene.installation.heldReasons() == [])
        #expect(try scene.answers == 1)
        try scene.installation.expectNoDifferences()
        // Nothing is missing any more: nobody is asked again.
        try scene.ask()
        #expect(try scene.looks == 0)
        #expect(scene.apple.calls == [200])
    }

    @Test func `an end that Apple confirms is told before the patience is over`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - 20 * Self.minute)
        let scene = try Scene(told: [bought], untold: [life.expire(at: now - 15 * Self.minute)])
        #expect(try scene.events == ["INITIAL_PURCHASE"])
        try scene.ask()
        try eventually("the end is told") { try scene.events == ["EXPIRATION", "INITIAL_PURCHASE"] }
        #expect(try scene.answer()?.status == 2)
        #expect(
            scene.apple.metrics.exposition().contains(
                #"entitled_status_answers_total{app="demo",environment="Production",outcome="expired"} 1"#))
        try scene.installation.expectNoDifferences()
        try scene.ask()
        #expect(try scene.looks == 0)
    }

    @Test func `an answer that the subscription is active tells nothing, and is asked for again later`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - 20 * Self.minute)
        let scene = try Scene(told: [bought])
        try scene.ask()
        #expect(try scene.answers == 1)
        let kept = try scene.answer()
        #expect(kept?.gap == nil)
        #expect(kept?.status == 1)
        // Nobody signed it as a whole.
        #expect(kept?.signedPayload == [])
        try scene.wake()
        #expect(try scene.events == ["INITIAL_PURCHASE"])
        // An hour after the end.
        let end = try scene.installation.database.count("SELECT end_ms FROM entitled.status_look")
        #expect(try scene.next == end + Self.hour)
        try scene.installation.expectNoDifferences()
    }

    @Test func `a charge that worked in the end is found while it is being retried`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 8 * Self.day)
        let failed = life.failBilling(at: now - 3 * Self.day)
        let scene = try Scene(told: [bought, failed])
        try scene.ask()
        #expect(!(try scene.events).contains("RENEWAL"))
        #expect(try scene.looks == 1)
        let recovered = try Scene(
            told: [bought, failed], untold: [life.recover(lasts: 5 * Self.day, at: now - Self.hour)])
        try recovered.ask()
        try eventually("it is told") { try recovered.events.contains("RENEWAL") }
        try recovered.installation.expectNoDifferences()
        try recovered.ask()
        #expect(try recovered.looks == 0)
    }

    @Test func `grace that nobody told of keeps access, and tells no end`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - 20 * Self.minute)
        let scene = try Scene(
            told: [bought], untold: [life.failBilling(graceUntil: now + Self.day, at: now - 15 * Self.minute)])
        try scene.ask()
        try eventually("it is told") { try scene.events.contains("BILLING_ISSUE") }
        try scene.wake()
        #expect(!(try scene.events).contains("EXPIRATION"))
        try scene.installation.expectNoDifferences()
        // The end of the grace is the next one to ask about.
        #expect(try scene.next == now + Self.day + 10 * Self.minute)
    }

    @Test func `what ended as it was told, or goes on, is asked about by nobody`() throws {
        let now = SystemClock().now()
        var (ended, running, refunded) = (Self.life(1), Self.life(2), Self.life(3))
        let scene = try Scene(told: [
            ended.start(lasts: 5 * Self.day, at: now - 6 * Self.day), ended.expire(at: now - Self.day),
            running.start(lasts: 5 * Self.day, at: now - Self.day),
            refunded.start(lasts: 5 * Self.day, at: now - 7 * Self.day), refunded.refund(at: now - 6 * Self.day),
        ])
        try scene.wake()
        // What was asked for before the rest came is settled without a call.
        try scene.ask()
        #expect(try scene.looks == 0)
        #expect(scene.apple.calls == [])
    }

    @Test func `an end that comes without a word is asked about from then on`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day + 4000)
        let scene = try Scene(
            told: [bought],
            before: { installation in
                try installation.database.execute(
                    "INSERT INTO entitled.history_look (app, environment, covered_ms, tried_ms) VALUES ('demo', 0, $1, $1)",
                    [.int8(now)])
            })
        try eventually("its end has come") { try scene.looks == 1 }
        let end = try scene.installation.database.count("SELECT access_ends_ms FROM entitled.purchase")
        #expect(try scene.next == end + 10 * Self.minute)
        // Renewals come within minutes, as a rule.
        try scene.turn()
        #expect(scene.apple.calls == [])
        try scene.installation.postAll([life.renew(lasts: 5 * Self.day, at: SystemClock().now())])
        try scene.installation.untilApplied(2)
        try scene.ask()
        #expect(try scene.looks == 0)
        #expect(scene.apple.calls == [])
    }

    @Test func `an end that was foretold in time is told, and nobody is asked`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day + 5000)
        let scene = try Scene(
            told: [bought, life.autoRenewOff(at: now - Self.day)],
            before: { installation in
                try installation.database.execute(
                    "INSERT INTO entitled.history_look (app, environment, covered_ms, tried_ms) VALUES ('demo', 0, $1, $1)",
                    [.int8(now)])
            })
        // As if it had come in time.
        try scene.installation.database.execute(
            "UPDATE entitled.fact SET seq = (signed_ms - 1704067200000) << 22 | (seq & 4194303)")
        try eventually("the end is told") { try scene.events.contains("EXPIRATION") }
        #expect(try scene.looks == 0)
    }

    @Test func `who compares histories asks, by itself`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let scene = try Scene(told: [life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)])
        try scene.apple.reconciling(as: scene.worker.id, statusCallsPerHour: 600) {
            try eventually("the answer is applied") { try scene.answers == 1 }
        }
        #expect(try scene.installation.heldReasons() == [])
        try scene.installation.expectNoDifferences()
    }

    @Test func `an app without a key is never asked about, nor by who does not own the first lane`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        let keyless = try Scene(told: [bought], hasKey: false)
        try keyless.wake()
        #expect(try keyless.looks == 0)
        let scene = try Scene(told: [bought])
        try scene.sweepAsStranger()
        #expect(scene.apple.calls == [])
        #expect(try scene.looks == 1)
    }

    @Test func `the same answer twice is one entry, and one set of facts`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        let scene = try Scene(told: [bought], untold: [life.renew(lasts: 5 * Self.day, at: now - Self.hour)])
        let id = try scene.installation.database.texts("SELECT original_transaction_id FROM entitled.status_look")
        let state = try #require(
            try scene.apple.reader.client.subscriptions(of: id.first ?? "", in: .only(.production)).answer.first)
        let connection = try scene.installation.database.connect(role: "entitled_worker")
        var intake = HistoryAppender(clock: SystemClock())
        // As when a process is killed before it wrote that it was answered.
        let entries = try (0..<2).map { _ in
            let entry = try AdmittedPayload.status(state).packed(
                in: scene.apple.place, by: HeaderDictionaries())
            return try intake.insert([entry], on: connection).count
        }
        #expect(entries == [1, 0])
        try eventually("it is told") { try scene.events == ["INITIAL_PURCHASE", "RENEWAL"] }
        #expect(try scene.answers == 1)
        try scene.ask(times: 3)
        #expect(try scene.events == ["INITIAL_PURCHASE", "RENEWAL"])
        #expect(try scene.looks == 0)
    }

    @Test func `what Apple does not know is left alone for long, and the others are asked about`() throws {
        let now = SystemClock().now()
        var (known, unknown) = (Self.life(1), Self.life(2))
        let stranger = unknown.start(lasts: 5 * Self.day, at: now - 5 * Self.day - 2 * Self.hour)
        let bought = known.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        let ended = known.expire(at: now - 30 * Self.minute)
        let scene = try Scene(told: [bought, stranger], apple: [bought, ended])
        // The stranger's turn comes first.
        try scene.turn()
        #expect(scene.apple.calls == [404])
        try eventually("the other is asked about") {
            try scene.turn()
            return scene.apple.calls.count > 1
        }
        try eventually("the other's end is told") { try scene.events.contains("EXPIRATION") }
        let last = try scene.installation.database.count("SELECT max(next_ms) FROM entitled.status_look")
        #expect(last > now + 29 * Self.day)
        #expect(scene.apple.log.text.components(separatedBy: "purchase unknown to Apple").count == 2)
    }

    @Test func `a key that Apple refuses is told once, and nothing is asked for a while`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        let scene = try Scene(told: [bought], faults: [StoreFault(.unauthorized)])
        try scene.ask(times: 3)
        let calls = scene.apple.calls.count
        #expect(scene.apple.calls.allSatisfy { $0 == 401 } && calls > 0)
        try scene.ask(times: 3)
        #expect(scene.apple.calls.count == calls)
        #expect(scene.apple.log.text.components(separatedBy: "status poll failed").count == 2)
        #expect(try scene.looks == 1)
        #expect(try scene.answers == 0)
    }

    @Test func `no more is asked than the budget allows`() throws {
        let now = SystemClock().now()
        let bought = (UInt64(1)...5).map { number -> StoreNotification in
            var life = Self.life(number)
            return life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        }
        let scene = try Scene(told: bought, callsPerHour: 2)
        try scene.ask(times: 20)
        #expect(scene.apple.calls == [200])
        #expect(
            scene.apple.metrics.exposition().contains(
                #"entitled_status_looks_due{app="demo",environment="Production"} 4"#))
        let off = try Scene(told: [bought[0]], callsPerHour: 0)
        try off.ask(times: 3)
        #expect(off.apple.calls == [])
    }

    @Test func `an answer is sent to nobody who gets notifications as they came`() throws {
        let now = SystemClock().now()
        var life = Self.life()
        let bought = life.start(lasts: 5 * Self.day, at: now - 5 * Self.day - Self.hour)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let renewed = life.renew(lasts: 5 * Self.day, at: now - Self.hour)
        let scene = try Scene(
            told: [bought], untold: [renewed],
            before: { installation in
                _ = try EndpointTable.add(
                    url: consumer.url("/raw"), authorization: nil, environments: [], events: [], apps: [],
                    format: .raw, sealer: installation.sealer, now: SystemClock().now(),
                    on: try installation.database.connect(role: "entitled_worker"))
            })
        try scene.ask()
        try eventually("it is told") { try scene.events.contains("RENEWAL") }
        let sent = "SELECT event_type FROM entitled.delivery WHERE notification_seq IS NOT NULL"
        #expect(try scene.installation.database.texts(sent) == ["SUBSCRIBED"])
    }
}

extension NotificationQuery.Whole {
    fileprivate var status: Int64? { (try? JSON(parsing: payload))?["data"]?["status"]?.intValue }
}
