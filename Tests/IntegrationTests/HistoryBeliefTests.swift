import Base
import Database
import Postgres
import StoreSimulator
import TestSupport
import Testing
import Worker

/// What Apple's history says about silence.
@Suite struct HistoryBeliefTests {
    private static let hour: Int64 = 3_600_000
    private static let day = StoreProduct.day
    private static let place = AppScope(app: "demo", environment: .production)

    /// It ended two days ago and should have renewed; news of it is a week old.
    private func silent() -> StoreNotification {
        var life = SubscriberLife(app: Installation.app, seed: 95, number: 1)
        return life.start(lasts: 5 * Self.day, at: SystemClock().now() - 7 * Self.day)
    }

    private func expirations(_ installation: Installation) throws -> Int64 {
        try installation.database.count("SELECT count(*) FROM entitled.event WHERE type = 'EXPIRATION'")
    }

    private func wake(_ installation: Installation) throws {
        try installation.database.execute("UPDATE entitled.purchase SET wake_ms = 1")
    }

    /// The instant of the next look, once this one is over.
    private func nextWake(_ installation: Installation) throws -> Int64 {
        let woken = "SELECT count(*) FROM entitled.purchase WHERE wake_ms = 1"
        try eventually("the timer was looked at") { try installation.database.count(woken) == 0 }
        return try installation.database.count("SELECT coalesce(max(wake_ms), 0) FROM entitled.purchase")
    }

    @Test func `what we fetched ourselves says nothing about how late Apple is`() throws {
        let installation = try Installation()
        let history = try PlayedHistory(installation, [silent()])
        #expect(try history.replay().counts.queued == 1)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually("the end is told") { try expirations(installation) == 1 }
        // A rebuild and a look at the past judge alike.
        #expect(try installation.database.count("SELECT count(*) FROM entitled.fact WHERE source <> 1") == 0)
        try installation.expectNoDifferences()
    }

    @Test func `an end that history covers is told, though Apple's own news was late`() throws {
        let installation = try Installation()
        let notification = silent()
        let history = try PlayedHistory(installation, [notification])
        let first = try RunningWorker(installation)
        try installation.postAll([notification])
        try installation.untilApplied(1)
        try wake(installation)
        #expect(try nextWake(installation) > SystemClock().now() + 70 * Self.hour)
        #expect(try expirations(installation) == 0)
        try history.reconciling(as: first.id) {
            try eventually("it is looked through") { try history.isCovered() }
        }
        first.stop()
        try wake(installation)
        let second = try RunningWorker(installation)
        defer { second.stop() }
        try eventually("the end is told") { try expirations(installation) == 1 }
    }

    @Test func `who could look into Apple's history believes no silence before`() throws {
        let installation = try Installation()
        let first = try RunningWorker(installation)
        try installation.postAll([silent()])
        try installation.untilApplied(1)
        first.stop()
        // As if it had come in time; then the end would be confirmed by now.
        let epoch: Int64 = 1_704_067_200_000
        try installation.database.execute(
            "UPDATE entitled.fact SET seq = (signed_ms - $1) << 22 | (seq & 4194303)", [.int8(epoch)])
        let reconciliation = LaneWorkerConfiguration.Reconciliation(places: [Self.place], interval: .seconds(3600))
        try wake(installation)
        let second = try RunningWorker(installation, reconciliation: reconciliation)
        // Looked at again soon, and not only when the waiting is over.
        let next = try nextWake(installation)
        #expect(next <= SystemClock().now() + Self.hour)
        #expect(try expirations(installation) == 0)
        second.stop()
        // Somebody tried, in vain: then waiting alone counts.
        try installation.database.execute(
            "INSERT INTO entitled.history_look (app, environment, tried_ms, error) VALUES ('demo', 0, $1, 'away')",
            [.int8(SystemClock().now())])
        try wake(installation)
        let third = try RunningWorker(installation, reconciliation: reconciliation)
        defer { third.stop() }
        try eventually("the end is told") { try expirations(installation) == 1 }
    }
}
