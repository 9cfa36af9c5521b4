import Base
import CLI
import TestSupport
import Testing

/// Times as people read and give them.
struct ScreenTests {
    /// 2026-11-21T23:30:00Z.
    private static let now: Int64 = 1_795_303_800_000
    private static let east = LocalZone { _ in (3600, "CET") }

    private func screen(_ zone: LocalZone) -> Screen { Screen(columns: 80, zone: zone, clock: ManualClock(Self.now)) }

    @Test func `a time is shown in UTC, in local time, and as a distance`() {
        let hours = Self.now - 3 * 3_600_000
        #expect(screen(Self.east).time(hours) == "2026-11-21T20:30:00Z (21:30:00 CET, 3 h ago)")
        #expect(screen(.utc).time(hours) == "2026-11-21T20:30:00Z (3 h ago)")
        // There it is tomorrow already.
        #expect(screen(Self.east).time(Self.now) == "2026-11-21T23:30:00Z (2026-11-22 00:30:00 CET, now)")
        #expect(screen(.utc).time(Self.now + 86_400_000 * 5).hasSuffix("(in 5 days)"))
    }

    @Test(arguments: [Int64.min, Int64.min + now, Int64.min + now + 1, -1, Int64.max - 3_600_000, Int64.max])
    func `any number of a payload is shown as a time`(instant: Int64) {
        let west = LocalZone { _ in (-3600, "WEST") }
        for zone in [Self.east, west, .utc, .ofProcess] {
            #expect(screen(zone).time(instant).hasPrefix(Timestamp.text(instant)))
        }
    }

    @Test func `without a screen a time is ISO 8601 and nothing else`() {
        let terminal = Terminal(isInteractive: false, output: { _ in }, errors: { _ in })
        #expect(terminal.time(Self.now) == "2026-11-21T23:30:00Z")
    }

    @Test(arguments: [
        ("2026-11-21", "2026-11-21T00:00:00Z"), ("2026-11-21T02:00:00+01:00", "2026-11-21T01:00:00Z"),
        ("2026-10", "2026-10-01T00:00:00Z"), ("24h", "2026-11-20T23:30:00Z"), ("today", "2026-11-21T00:00:00Z"),
        ("yesterday", "2026-11-20T00:00:00Z"),
        ("this-month", "2026-11-01T00:00:00Z"),
        ("last-month", "2026-10-01T00:00:00Z"),
    ])
    func `a time is given in several ways`(text: String, meant: String) throws {
        let argument = try #require(TimeArgument(text: text))
        #expect(Timestamp.text(argument.milliseconds(now: Self.now)) == meant)
        #expect(argument.text == text && ValueKind.moment.accepts(text))
    }

    /// It is half past midnight on the 22nd in the zone of the question.
    @Test(arguments: [
        ("2026-11-21", "2026-11-20T23:00:00Z"), ("2026-10", "2026-09-30T23:00:00Z"), ("today", "2026-11-21T23:00:00Z"),
        ("yesterday", "2026-11-20T23:00:00Z"), ("2026-11-21T01:00:00Z", "2026-11-21T01:00:00Z"),
    ])
    func `days begin in the zone of the question`(text: String, meant: String) throws {
        let argument = try #require(TimeArgument(text: text))
        #expect(Timestamp.text(argument.milliseconds(now: Self.now, in: Self.east)) == meant)
    }

    @Test func `in January the last month is that of the year before`() throws {
        let january = try #require(Timestamp.parse("2027-01-01T00:00:00Z"))
        let argument = try #require(TimeArgument(text: "last-month"))
        #expect(Timestamp.text(argument.milliseconds(now: january)) == "2026-12-01T00:00:00Z")
    }

    @Test(arguments: [
        "", "tomorrow", "next-month", "2026-13", "2026-1", "2026", "24", "2026-11-21T", "last month", "-24h",
    ])
    func `other texts are no times`(text: String) {
        #expect(TimeArgument(text: text) == nil && !ValueKind.moment.accepts(text))
    }
}
