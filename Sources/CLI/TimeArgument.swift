import Base

/// A time as somebody said it: in ISO 8601, or how long ago.
package struct TimeArgument: Sendable, Equatable {
    /// As it was said.
    package let text: String
    private let time: Int64?
    private let ago: Int64

    /// Nil for what is neither.
    package init?(text: String) {
        let (time, ago) = (Timestamp.parse(text), Duration(text: text))
        guard time != nil || ago != nil else { return nil }
        self.text = text
        self.time = time
        self.ago = ago?.milliseconds ?? 0
    }

    /// Milliseconds since 1970.
    package func milliseconds(now: Int64) -> Int64 { time ?? now - ago }

    /// The same for a beginning, which cannot be to come.
    package func milliseconds(ofOption name: String, now: Int64) throws(UsageError) -> Int64 {
        let found = milliseconds(now: now)
        guard found <= now else { throw UsageError("\(name) \(text) is still to come") }
        return found
    }
}
