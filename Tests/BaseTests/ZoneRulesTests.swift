import Base
import Testing

struct ZoneRulesTests {
    /// A file of one change, at 1970-01-02, from -1 h to +1 h; then as the footer has it.
    private func file(footer: String = "", version: UInt8 = UInt8(ascii: "2"), leaps: UInt8 = 0) -> [UInt8] {
        func header(_ counts: [UInt8]) -> [UInt8] {
            Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15) + counts.flatMap { [0, 0, 0, $0] }
        }
        let times: [UInt8] = [0, 0, 0, 0, 0, 1, 0x51, 0x80]
        let types: [UInt8] = [0xFF, 0xFF, 0xF1, 0xF0, 0, 0, 0, 0, 0x0E, 0x10, 1, 4]
        return header([0, 0, 0, 0, 1, 1]) + [0, 0, 0, 0, 0, 0, 0] + header([0, 0, leaps, 1, 2, 8]) + times + [1] + types
            + Array("ONE\0TWO\0".utf8) + Array("\n\(footer)\n".utf8)
    }

    private func offset(_ rules: ZoneRules?, _ time: String) throws -> String {
        let instant = try #require(Timestamp.parse(time))
        let found = try #require(rules).offset(at: instant)
        return "\(found.name) \(found.seconds)"
    }

    @Test func `a change counts from its second on, and the last one stays`() throws {
        let rules = ZoneRules(file())
        #expect(try offset(rules, "1969-01-01T00:00:00Z") == "ONE -3600")
        #expect(try offset(rules, "1970-01-01T23:59:59Z") == "ONE -3600")
        #expect(try offset(rules, "1970-01-02T00:00:00Z") == "TWO 3600")
        #expect(try offset(rules, "2500-01-02T00:00:00Z") == "TWO 3600")
        #expect(rules?.offset(at: 86_399_999).name == "ONE" && rules?.offset(at: -1).name == "ONE")
        for instant in [Int64.min, .max] {
            _ = ZoneRules(file(footer: "CET-1CEST,M3.5.0,M10.5.0/3"))?.offset(at: instant)
        }
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", "CET 3600"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", "CEST 7200"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", "CET 3600"),
        // The southern hemisphere: summer goes on over the year's end.
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", "AEDT 39600"),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", "AEST 36000"),
        // Ireland's winter is what is changed.
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-12-31T12:00:00Z", "GMT 0"),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-06-30T12:00:00Z", "IST 3600"),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", "-02 -7200"),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", "-01 -3600"),
        ("<+0530>-5:30", "2026-03-29T01:00:00Z", "+0530 19800"),
        ("EET-2EEST,J60,59/24", "2024-03-01T00:00:00Z", "EEST 10800"),
        ("EST5EDT,M3.2.0/2,M11.1.0/2", "2100-07-01T00:00:00Z", "EDT -14400"),
    ])
    func `behind the last change the footer's rule counts`(rule: String, time: String, found: String) throws {
        #expect(try offset(ZoneRules(file(footer: rule)), time) == found)
    }

    @Test(arguments: [
        "CET", "CET-", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "ÄÄ-1",
        "CET-1CEST,M3.5.7,M10.5.0", "CET-25", "CET-1CEST,J0,J1", "CET-1CEST,366,1", "<>1", "<A",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "CET-1CEST,M3.5.0/168,M10.5.0", "CET-99999999999999999999", "C1", "CET-1:60",
    ])
    func `another footer is none`(rule: String) {
        #expect(ZoneRules(file(footer: rule)) == nil)
    }

    @Test func `what is cut off, old or has leap seconds is no such file`() {
        let whole = file(footer: "CET-1")
        #expect(ZoneRules(whole) != nil)
        for end in 0..<whole.count { #expect(ZoneRules(Array(whole[..<end])) == nil, "\(end)") }
        #expect(ZoneRules(file(version: 0)) == nil && ZoneRules(file(leaps: 1)) == nil)
    }

    @Test func `any bytes are read without a trap`() {
        var generator = SystemRandomNumberGenerator()
        let whole = file(footer: "CET-1CEST,M3.5.0,M10.5.0/3")
        for _ in 0..<20_000 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                damaged[Int.random(in: 0..<damaged.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            _ = ZoneRules(damaged)?.offset(at: Int64.random(in: Int64.min...Int64.max, using: &generator))
        }
    }

    @Test func `dates and days are each other's inverse`() throws {
        for number in stride(from: Int64(-700_000), to: 3_000_000, by: 137) {
            let day = Day(number: number)
            let date = day.date
            #expect(Day(firstOf: date.month, year: date.year).adding(date.day - 1) == day)
        }
        #expect(Day(firstOf: 2, year: 2024).text == "2024-02-01" && Day(firstOf: 1, year: 1970).number == 0)
        _ = (Day(number: .min).date, Day(number: .max).date)
    }
}
