/// Where in a stretch of Apple's history a reader is: windows of time, one after the other, and pages in each. Pure.
///
/// All in ms since 1970; both ends of a window belong to it, and two neighbours share one, because Apple does not say
/// whether the end does.
package struct HistoryCursor: Sendable, Equatable {
    package let from: Int64
    package let until: Int64
    /// The window that is being read.
    package private(set) var start: Int64
    package private(set) var end: Int64
    /// What the next page of the window comes after; nil: its first page.
    package private(set) var token: String?
    private var width: Int64

    /// A window that is read again from its beginning should not cost too much.
    static let widest: Int64 = 30 * 86_400_000
    static let narrowest: Int64 = 3_600_000
    /// Beyond it instants are none.
    private static let instants: ClosedRange<Int64> = 0...(1 << 53)

    package init(from: Int64, until: Int64) {
        let bounds = HistoryCursor.instants
        self.from = min(max(from, bounds.lowerBound), bounds.upperBound - 1)
        // Apple refuses a window without length.
        self.until = min(max(until, self.from + 1), bounds.upperBound)
        width = HistoryCursor.widest
        start = self.from
        end = self.from
        open(at: self.from)
    }

    /// Whether everything was read.
    package var isDone: Bool { start >= until }

    /// Whether there is no smaller window to try.
    var isNarrowest: Bool { end - start <= HistoryCursor.narrowest }

    /// 0 to 1.
    package var fraction: Double { Double(start - from) / Double(until - from) }

    /// A page was read.
    ///
    /// - Parameter token: what the next one comes after; nil: it was the last of its window.
    package mutating func advance(to token: String?) {
        self.token = token
        if token == nil { open(at: end) }
    }

    /// Apple takes the token no more: the window again, and only a part of it, so that it is read sooner.
    package mutating func narrow() {
        width = max((end - start) / 8, HistoryCursor.narrowest)
        open(at: start)
    }

    /// Apple's history does not reach back to the start of the window, or no longer.
    package mutating func skip(to oldest: Int64) {
        open(at: min(max(start, oldest), until))
    }

    private mutating func open(at instant: Int64) {
        start = instant
        end = min(start + width, until)
        token = nil
    }

    // MARK: - As the database keeps it

    package var words: [String] { [from, until, start, end, width].map { String($0) } + (token.map { [$0] } ?? []) }

    /// Nil for words that are none.
    package init?(words: some Sequence<String>) {
        let words = Array(words)
        let numbers = words.prefix(5).compactMap { Int64($0) }.filter(HistoryCursor.instants.contains)
        guard numbers.count == 5, words.count <= 6 else { return nil }
        (from, until, start, end, width) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
        token = words.dropFirst(5).first
        guard from < until, from <= start, start <= end, end <= until, width >= HistoryCursor.narrowest else {
            return nil
        }
    }
}
