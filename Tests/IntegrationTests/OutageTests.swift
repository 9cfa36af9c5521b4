import Base
import Database
import Foundation
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Silence while we did not listen proves nothing.
@Suite struct OutageTests {
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 60 * minute

    /// As if ingest had run all the time but from and until these hours ago.
    private func pretendOutage(from: Int64, until: Int64, _ installation: Installation) throws {
        let now = SystemClock().now() / Self.minute
        try installation.database.execute(
            """
            INSERT INTO entitled.listening SELECT generate_series($1::int8, $2::int8) ON CONFLICT DO NOTHING
            """, [.int8(now - 20 * 24 * 60), .int8(now - from * 60)])
        try installation.database.execute(
            "INSERT INTO entitled.listening SELECT generate_series($1::int8, $2::int8) ON CONFLICT DO NOTHING",
            [.int8(now - until * 60), .int8(now)])
    }

    private func expirations(_ installation: Installation) throws -> Int64 {
        try installation.database.count("SELECT count(*) FROM entitled.event WHERE type = 'EXPIRATION'")
    }

    /// Twenty days from this many hours ago back; it should renew.
    private func started(_ number: UInt64, endedBefore hours: Int64, _ app: StoreApp) -> (
        SubscriberLife, StoreNotification
    ) {
        var life = SubscriberLife(app: app, seed: 70, number: number)
        let began = SystemClock().now() - (20 * 24 + hours) * Self.hour
        let notification = life.start(lasts: 20 * 24 * Self.hour, at: began)
        return (life, notification)
    }

    /// Makes what has come up to now have come in time.
    private func pretendPunctual(_ installation: Installation) throws {
        let epoch: Int64 = 1_704_067_200_000
        try installation.database.execute(
            "UPDATE entitled.fact SET seq = (signed_ms - $1) << 22 | (seq & 4194303)", [.int8(epoch)])
    }

    private func wake(_ installation: Installation) throws {
        try installation.database.execute("UPDATE entitled.purchase SET wake_ms = 1")
    }

    @Test func `after an outage no wave of ends is told before Apple's repetitions had time to come`() throws {
        let installation = try Installation()
        try pretendOutage(from: 72, until: 1, installation)
        let now = SystemClock().now()
        // All ended two days ago, in the outage, and should have renewed; the patience of a day is over. Half of them
        // had been switched off: that may have been taken back in the outage.
        var lives = (UInt64(0)..<40).map { started($0, endedBefore: 48, Installation.app) }
        let off = lives.indices.filter { $0 % 2 == 0 }.map {
            lives[$0].0.autoRenewOff(at: now - 20 * 24 * Self.hour)
        }
        let first = try RunningWorker(installation)
        try installation.postAll(lives.map(\.1) + off)
        try installation.untilApplied(60)
        first.stop()
        try pretendPunctual(installation)
        try wake(installation)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        // 73 hours after the outage.
        let armed = "SELECT count(*) FROM entitled.purchase WHERE wake_ms BETWEEN $1 AND $1 + 2 * 3600000"
        try eventually("all timers are put off") {
            try installation.database.count(armed, [.int8(now + 71 * Self.hour)]) == 40
        }
        #expect(try expirations(installation) == 0)
        // The repetitions come: most went on all the time, one had ended.
        var repeated = lives.indices.dropFirst().map { lives[$0].0.renew(at: now - 48 * Self.hour) }
        repeated.append(lives[0].0.expire(at: now - 48 * Self.hour))
        try installation.postAll(repeated)
        try installation.untilApplied(100)
        #expect(try expirations(installation) == 1)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event WHERE type = 'RENEWAL'") == 39)
    }

    @Test func `an outage that ended long before the end, or began after it was confirmed, changes nothing`() throws {
        for (from, until) in [(Int64(300), Int64(200)), (10, 1)] {
            let installation = try Installation()
            try pretendOutage(from: from, until: until, installation)
            let first = try RunningWorker(installation)
            try installation.postAll([started(1, endedBefore: 48, Installation.app).1])
            try installation.untilApplied(1)
            first.stop()
            try pretendPunctual(installation)
            try wake(installation)
            let worker = try RunningWorker(installation)
            defer { worker.stop() }
            try eventually("the end is told") { try expirations(installation) == 1 }
        }
    }

    @Test func `an outage that has not ended, or not been seen to end, is one`() throws {
        let installation = try Installation()
        let first = try RunningWorker(installation)
        try installation.postAll([started(1, endedBefore: 48, Installation.app).1])
        try installation.untilApplied(1)
        first.stop()
        installation.drain()
        try pretendPunctual(installation)
        let now = SystemClock().now() / Self.minute
        try installation.database.execute("DELETE FROM entitled.listening")
        try installation.database.execute(
            "INSERT INTO entitled.listening SELECT generate_series($1::int8, $2::int8)",
            [.int8(now - 20 * 24 * 60), .int8(now - 72 * 60)])
        try wake(installation)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually("the timer was looked at") {
            try installation.database.count("SELECT count(*) FROM entitled.purchase WHERE wake_ms = 1") == 0
        }
        #expect(try expirations(installation) == 0)
    }

    @Test func `what came late may not be all that is late, but the sandbox sends once`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var (late, switchedOff) = started(1, endedBefore: 48, Installation.app)
        var (punctual, started) = started(2, endedBefore: 48, Installation.sandbox)
        let now = SystemClock().now()
        try installation.postAll([
            switchedOff, late.autoRenewOff(at: now - 72 * Self.hour), started,
            punctual.autoRenewOff(at: now - 72 * Self.hour),
        ])
        try eventually("the sandbox's end is told") { try expirations(installation) == 1 }
        try installation.untilApplied(4)
        #expect(
            try installation.database.texts("SELECT environment::text FROM entitled.event WHERE type = 'EXPIRATION'")
                == ["1"])
        // Apple's word ends the waiting.
        try installation.postAll([late.expire(at: now - 47 * Self.hour)])
        try eventually("the end is told") { try expirations(installation) == 2 }
    }

    @Test func `somebody's lock on what is known of outages does not keep a worker from its lanes`() throws {
        let installation = try Installation()
        let stranger = try installation.database.connect()
        try stranger.query("BEGIN")
        try stranger.query("LOCK TABLE entitled.listening IN ACCESS EXCLUSIVE MODE")
        let worker = try RunningWorker(installation, lease: .seconds(3))
        defer { worker.stop() }
        // It gives up well before its lease ends, and comes again.
        try worker.log.wait(for: "lane cycle failed")
        #expect(!worker.log.text.contains("lanes lost"))
        try stranger.query("ROLLBACK")
        try installation.postAll([started(1, endedBefore: -24, Installation.app).1])
        try installation.untilApplied(1)
        #expect(!worker.log.text.contains("lanes lost"))
    }

    @Test func `an endpoint that can store says so each minute`() throws {
        let installation = try Installation()
        try eventually("it listens") {
            try installation.database.count("SELECT count(*) FROM entitled.listening") > 0
        }
        let connection = try installation.database.connect(role: "entitled_worker")
        #expect(try IngestUptime.outages(now: SystemClock().now(), on: connection) == [])
        try pretendOutage(from: 72, until: 1, installation)
        let found = try IngestUptime.outages(now: SystemClock().now(), on: connection)
        #expect(found.count == 1)
        #expect(found.first.map { ($0.upperBound - $0.lowerBound) / Self.hour } == 71)
        try IngestUptime.forget(now: SystemClock().now() + 200 * 24 * Self.hour, on: connection)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.listening") == 0)
    }
}

@Suite struct ConsumptionDeadlineTests {
    @Test func `a consumption request that nobody answers in twelve hours is told once`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let now = SystemClock().now()
        let hour: Int64 = 3_600_000
        var (open, decided) = (
            SubscriberLife(app: Installation.sandbox, seed: 80, number: 1),
            SubscriberLife(app: Installation.sandbox, seed: 80, number: 2)
        )
        try installation.postAll([
            open.start(at: now - 48 * hour), decided.start(at: now - 48 * hour),
            open.requestConsumption(at: now - hour), decided.requestConsumption(at: now - hour),
            decided.declineRefund(at: now - hour / 2),
        ])
        try installation.untilApplied(5)
        let deadline = "SELECT count(*) FROM entitled.purchase WHERE wake_ms = $1 AND original_transaction_id = $2"
        #expect(
            try installation.database.count(deadline, [.int8(now + 11 * hour), .text(open.latest.originalID)]) == 1)
        #expect(
            try installation.database.count(deadline, [.int8(now + 11 * hour), .text(decided.latest.originalID)]) == 0)
        try installation.expectNoDifferences()
        // Another request of a day ago, as a timer finds it that fires only now.
        let connection = try installation.database.connect(role: "entitled_worker")
        var late = SubscriberLife(app: Installation.sandbox, seed: 80, number: 3)
        try installation.postAll([late.start(at: now - 48 * hour), late.requestConsumption(at: now - 24 * hour)])
        try installation.untilApplied(7)
        _ = try connection.query(
            "UPDATE entitled.purchase SET wake_ms = $1 WHERE original_transaction_id = $2",
            [.int8(now - 12 * hour), .text(late.latest.originalID)])
        try worker.log.wait(for: "consumption request expired")
        let again = "SELECT count(*) FROM entitled.purchase WHERE wake_ms <= $1"
        try eventually("the timer has fired") { try installation.database.count(again, [.int8(now)]) == 0 }
        #expect(worker.log.text.components(separatedBy: "consumption request expired").count == 2)
    }
}
