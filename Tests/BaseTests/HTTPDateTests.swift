import Base
import Testing

@Suite struct HTTPDateTests {
    /// Sat, 21 Nov 2026 14:00:00 GMT.
    private let now: Int64 = 1_795_269_600_000

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", Int64(784_111_777_000)), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Sat, 29 Feb 2020 23:59:59 GMT", 1_583_020_799_000), ("Fri, 31 Dec 2038 12:00:00 GMT", 2_177_409_600_000),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000), ("Sun Nov  6 08:49:37 1994", 784_111_777_000),
        ("Wed Nov 16 08:49:37 1994", 784_975_777_000), ("Saturday, 29-Feb-20 23:59:59 GMT", 1_583_020_799_000),
    ])
    func `the three forms of RFC 9110 are read`(text: String, milliseconds: Int64) {
        #expect(HTTPDate.parse(text, now: now) == milliseconds)
    }

    @Test(arguments: [
        ("Sunday, 01-Jan-76 00:00:00 GMT", "Sun, 01 Jan 2076 00:00:00 GMT"),
        ("Sunday, 01-Jan-77 00:00:00 GMT", "Sun, 01 Jan 1977 00:00:00 GMT"),
        ("Sunday, 01-Jan-27 00:00:00 GMT", "Sun, 01 Jan 2027 00:00:00 GMT"),
    ])
    func `a year of two digits is never more than fifty years ahead`(short: String, full: String) {
        let date = HTTPDate.parse(short, now: now)
        #expect(date != nil && date == HTTPDate.parse(full, now: now))
    }

    @Test(arguments: [
        "", "Sunday, 6-Nov-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 199x 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sun  Nov 6 08:49:37 1994",
        "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994  08:49:37 GMT", "Sun Nov  6 08:49:37 1994 ",
    ])
    func `other forms are none`(text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }
}
