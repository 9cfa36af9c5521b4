import Base
import Testing

struct LocalZoneTests {
    /// Seconds east of UTC before and from an instant on.
    private func zone(_ before: Int64, _ change: String, _ after: Int64) throws -> LocalZone {
        let change = try #require(Timestamp.parse(change))
        return LocalZone { ($0 < change ? before : after, "") }
    }

    private func starts(_ days: [String], in zone: LocalZone) throws -> [String] {
        try days.map { Timestamp.text(zone.start(of: Day(of: try #require(Timestamp.parse($0))))) }
    }

    @Test func `a day begins at the first instant that clocks show it`() throws {
        let autumn = try zone(7200, "2026-10-25T01:00:00Z", 3600)
        #expect(
            try starts(["2026-10-24", "2026-10-25", "2026-10-26"], in: autumn) == [
                "2026-10-23T22:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
            ])
        let spring = try zone(3600, "2026-03-29T01:00:00Z", 7200)
        #expect(
            try starts(["2026-03-29", "2026-03-30"], in: spring) == ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"])
        // São Paulo in 2018: clocks went from 0:00 to 1:00, so that there was no midnight.
        let gap = try zone(-10_800, "2018-11-04T03:00:00Z", -7200)
        #expect(
            try starts(["2018-11-03", "2018-11-04", "2018-11-05"], in: gap) == [
                "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z",
            ])
        // Clocks that go back from 0:00 to 23:00 show the new day first at the second midnight.
        let back = try zone(-7200, "2019-02-17T02:00:00Z", -10_800)
        #expect(try starts(["2019-02-17"], in: back) == ["2019-02-17T03:00:00Z"])
    }

    @Test func `every instant is in the day of its zone`() throws {
        let zones = [
            LocalZone.utc, try zone(7200, "2026-10-25T01:00:00Z", 3600),
            try zone(-10_800, "2018-11-04T03:00:00Z", -7200),
            try zone(46_800, "2026-04-04T14:00:00Z", 43_200), LocalZone { _ in (20_700, "") },
        ]
        var generator = SystemRandomNumberGenerator()
        for zone in zones {
            for _ in 0..<2000 {
                let instant = Int64.random(in: 1_500_000_000_000...1_800_000_000_000, using: &generator)
                let day = zone.day(of: instant)
                #expect(zone.start(of: day) <= instant && instant < zone.start(of: day.adding(1)))
                #expect(zone.clock(instant).hasPrefix(day.text))
            }
        }
    }

    @Test func `instants at the end of what can be counted trap nothing`() {
        let zone = LocalZone { _ in (50_400, "") }
        for instant in [Int64.min, .max] {
            #expect(zone.text(instant) == nil || instant == .min)
            _ = zone.day(of: instant)
            _ = zone.clock(instant)
        }
    }

    @Test(arguments: ["Europe/Vienna", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Asia/Ust-Nera"])
    func `names of the database are names`(text: String) {
        #expect(TimeZoneName(text)?.text == text)
    }

    @Test(arguments: [
        "", "/etc/passwd", "../../etc/passwd", "Europe//Vienna", "Europe/", ":UTC", "A B", "A\u{0}", "ö", ".",
    ])
    func `anything else is not`(text: String) {
        #expect(TimeZoneName(text) == nil)
    }
}
