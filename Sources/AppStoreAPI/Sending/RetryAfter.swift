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
            return HTTPDate.parse(text, now: now)
        }
        guard text.utf8.count <= 16, let number = Int64(text) else { return nil }
        switch number {
        case ..<1_000_000_000: return now + number * 1000
        case ..<100_000_000_000: return number * 1000
        default: return number
        }
    }
}
