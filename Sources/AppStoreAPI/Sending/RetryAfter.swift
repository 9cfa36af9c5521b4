import Base

/// The header `retry-after` of Apple's 429: a UNIX time in milliseconds
/// (https://developer.apple.com/documentation/appstoreserverapi/ratelimitexceedederror). Others write it as RFC 9110
/// §10.2.3 says, or in seconds; which is meant shows in its size.
enum RetryAfter {
    /// Apple counts by the hour: nothing can be closed for longer.
    private static let longest: Int64 = 3_600_000

    /// How long to wait, in milliseconds; nil for what is no time. `now` is the sender's clock where it is known.
    static func wait(_ text: String, now: Int64) -> Int64? {
        guard let instant = instant(text, now: now) else { return nil }
        return min(max(0, instant - now), longest)
    }

    private static func instant(_ text: String, now: Int64) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return HTTPDate.parse(text)
        }
        guard text.utf8.count <= 16, let number = Int64(text) else { return nil }
        switch number {
        case ..<1_000_000_000: return now + number * 1000
        case ..<100_000_000_000: return number * 1000
        default: return number
        }
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Milliseconds since 1970; nil for anything else.
    static func parse(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[0].hasSuffix(","), parts[1].count == 2,
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let digits = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp.parse("\(parts[3])-\(digits)-\(parts[1])T\(parts[4])Z")
    }
}
