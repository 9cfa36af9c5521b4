import AppStoreAPI
import Base
import Database

/// A stretch of Apple's history on its way through a reader: page by page, and at any time from where it was.
package struct HistoryScan: Sendable, Equatable {
    package let question: HistoryFilter
    /// Which of the questions that Apple must be asked.
    private var part: Int
    private var cursor: HistoryCursor

    /// Apple's limit moves while we ask, and its clock is another one; in ms.
    static let slack: Int64 = 300_000

    package init(_ question: HistoryFilter, from: Int64, until: Int64) {
        self.question = question
        part = 0
        cursor = HistoryCursor(from: from, until: until)
    }

    package var isDone: Bool { part >= question.parts }
    /// 0 to 1.
    package var fraction: Double { isDone ? 1 : (Double(part) + cursor.fraction) / Double(question.parts) }
    package var until: Int64 { cursor.until }
    package var from: Int64 { cursor.from }

    /// The earliest instant that Apple's history holds, in ms.
    package static func oldest(in environment: StoreEnvironment, now: Int64) -> Int64 {
        now - NotificationHistoryQuery.reach(in: environment) + slack
    }

    /// The next page, and the walk behind it.
    ///
    /// - Parameter now: ms since 1970.
    package func page(
        of reader: HistoryReader, from source: NotificationSource, now: Int64, _ options: CallOptions
    ) throws(ServerAPIError) -> (page: HistoryReader.Page, next: HistoryScan) {
        var next = self
        guard !isDone else { return (HistoryReader.Page(), next) }
        // While pages of a window are being read its bounds must stay as they are.
        if cursor.token == nil { next.cursor.skip(to: HistoryScan.oldest(in: question.place.environment, now: now)) }
        guard !next.cursor.isDone else {
            next.close()
            return (HistoryReader.Page(), next)
        }
        let query = question.query(part, from: next.cursor.start, to: next.cursor.end)
        do throws(ServerAPIError) {
            let page = try reader.page(query, after: next.cursor.token, question, from: source, options)
            next.cursor.advance(to: page.token)
            next.close()
            return (page, next)
        } catch {
            guard next.goesOn(after: error, now) else { throw error }
            return (HistoryReader.Page(), next)
        }
    }

    /// Whether another question helps.
    private mutating func goesOn(after error: ServerAPIError, _ now: Int64) -> Bool {
        switch error.code {
        case .paginationTokenExpired, .invalidPaginationToken:
            guard cursor.token != nil, !cursor.isNarrowest else { return false }
            cursor.narrow()
            return true
        case .startDateTooFarInPast:
            // Its clock is ahead of ours, or it read for long.
            let oldest = HistoryScan.oldest(in: question.place.environment, now: now)
            cursor.skip(to: max(oldest, cursor.start) + HistoryCursor.narrowest)
            close()
            return true
        default: return false
        }
    }

    /// On to the next question if this one is answered.
    private mutating func close() {
        guard cursor.isDone else { return }
        part += 1
        if !isDone { cursor = HistoryCursor(from: cursor.from, until: cursor.until) }
    }

    // MARK: - As the database keeps it

    package var words: [String] { [String(part)] + cursor.words }

    /// Nil for words that are none.
    package init?(_ question: HistoryFilter, words: some Collection<String>) {
        guard let part = words.first.flatMap({ Int($0) }), part >= 0,
            let cursor = HistoryCursor(words: words.dropFirst())
        else { return nil }
        self.question = question
        self.part = part
        self.cursor = cursor
    }
}
