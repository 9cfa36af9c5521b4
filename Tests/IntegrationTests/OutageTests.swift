import Base
import Postgres
import Queue
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

    @Test func `after an outage no wave of ends is told before Apple's repetitions had time to come`() throws {
        let installation = try Installation()
        try pretendOutage(from: 72, until: 1, installation)
        let now = SystemClock().now()
        // All ended two days ago, in the outage, and should have renewed; the patience of a day is over.
        var lives = (UInt64(0)..<40).map { SubscriberLife(app: Installation.app, seed: 70, number: $0) }
        let started = lives.indices.map { place in
            lives[place].start(lasts: 20 * 24 * Self.hour, at: now - 22 * 24 * Self.hour)
        }
        // One was switched off before: that it ended is certain.
        let off = lives[0].autoRenewOff(at: now - 20 * 24 * Self.hour)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.postAll(started + [off])
        try installation.untilApplied(41)
        try eventually("the certain end is told") { try expirations(installation) == 1 }
        let armed = """
            SELECT count(*) FROM entitled.purchase WHERE wake_ms BETWEEN $1 AND $1 + 2 * 3600000
            """
        // 73 hours after the outage.
        #expect(try installation.database.count(armed, [.int8(now + 71 * Self.hour)]) == 39)
        // The repetition comes: it has gone on all the time.
        let renewed = lives.indices.dropFirst().map { place in
            lives[place].renew(at: now - 2 * 24 * Self.hour)
        }
        try installation.postAll(renewed)
        try installation.untilApplied(41 + 39)
        #expect(try expirations(installation) == 1)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event WHERE type = 'RENEWAL'") == 39)
    }

    @Test func `timers that fell due in an outage are put off, not fired`() throws {
        let installation = try Installation()
        let now = SystemClock().now()
        var life = SubscriberLife(app: Installation.app, seed: 71)
        let started = life.start(lasts: 20 * 24 * Self.hour, at: now - 22 * 24 * Self.hour)
        // Applied by a worker that knows no outage and would have told the end a day ago: its timer is due.
        let first = try RunningWorker(installation)
        try installation.postAll([started])
        try installation.untilApplied(1)
        try eventually("told without an outage") { try expirations(installation) == 1 }
        first.stop()
        try installation.database.execute("DELETE FROM entitled.event")
        try installation.database.execute("UPDATE entitled.purchase SET wake_ms = $1", [.int8(now - Self.hour)])
        try pretendOutage(from: 72, until: 1, installation)
        let second = try RunningWorker(installation)
        defer { second.stop() }
        try eventually("the timer is put off") {
            try installation.database.count("SELECT count(*) FROM entitled.purchase WHERE wake_ms > $1", [.int8(now)])
                == 1
        }
        #expect(try expirations(installation) == 0)
    }

    @Test func `an outage that ended long before the end, or began after it was believed, changes nothing`() throws {
        for (from, until) in [(Int64(300), Int64(200)), (10, 1)] {
            let installation = try Installation()
            try pretendOutage(from: from, until: until, installation)
            let now = SystemClock().now()
            var life = SubscriberLife(app: Installation.app, seed: 72)
            let started = life.start(lasts: 20 * 24 * Self.hour, at: now - 22 * 24 * Self.hour)
            let worker = try RunningWorker(installation)
            defer { worker.stop() }
            try installation.postAll([started])
            try eventually("the end is told") { try expirations(installation) == 1 }
        }
    }

    @Test func `an endpoint that can store says so each minute`() throws {
        let installation = try Installation()
        try eventually("it listens") {
            try installation.database.count("SELECT count(*) FROM entitled.listening") > 0
        }
        let connection = try installation.database.connect(role: "entitled_worker")
        #expect(try Listening.outages(now: SystemClock().now(), on: connection) == [])
        try pretendOutage(from: 72, until: 1, installation)
        let found = try Listening.outages(now: SystemClock().now(), on: connection)
        #expect(found.count == 1)
        #expect(found.first.map { ($0.upperBound - $0.lowerBound) / Self.hour } == 71)
        try Listening.forget(now: SystemClock().now() + 200 * 24 * Self.hour, on: connection)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.listening") == 0)
    }
}
