import Base
import Customers
import Database
import Synchronization

/// An answer for spreadsheets (RFC 4180).
protocol DeskCSV: DeskAnswer {
    var csv: String { get }
    /// How many rows of a list it has; nil: it is none.
    var count: Int? { get }
    /// The cursor of the row behind the last; nil: there is none.
    var next: String? { get }
}

/// Rows of a list: a column for each member of their JSON.
struct DeskTable: DeskCSV {
    let rows: [JSON]
    let next: String?

    var json: JSON { .array(rows) }
    var count: Int? { rows.count }

    var csv: String {
        var columns: [String] = []
        for row in rows {
            for member in row.members ?? [] where !columns.contains(member.name) { columns.append(member.name) }
        }
        guard !columns.isEmpty else { return "" }
        return rows.reduce(into: CSVTable.line(columns)) { text, row in
            text += CSVTable.line(columns.map { DeskTable.cell(row[$0] ?? .null) })
        }
    }

    /// What is no text, number or flag stands as JSON.
    private static func cell(_ value: JSON) -> String {
        if let text = value.stringValue { return text }
        return value == .null ? "" : value.text
    }
}

/// The rows of a chart.
struct ChartRows: DeskCSV {
    let chart: ChartAnswer

    var json: JSON { chart.json }
    var csv: String { chart.csv }
    var count: Int? { nil }
    var next: String? { nil }
}

/// Reads lists beyond one page: to count them, and for spreadsheets.
enum DeskListing {
    static let page = 1000
    /// How long rows are counted, and collected.
    private static let patience = (count: Duration.seconds(1), table: Duration.seconds(8))

    /// A page of a list, with the number of all rows where it is asked for, or a table of many.
    static func answer<Question: DeskListQuestion, Item>(
        _ question: Question, _ desk: DatabaseDesk, _ ask: (DatabaseDesk, Question) throws -> DeskList<Item>
    ) throws -> any DeskAnswer {
        if question.part.isCSV { return try table(question, desk, ask) }
        var answer = try ask(desk, question)
        if question.part.isCounted { answer.count = try count(question, desk, ask) }
        return answer
    }

    /// - Parameter found: gets the rows of each page.
    /// - Returns: the cursor of what was not read.
    private static func read<Question: DeskListQuestion, Item>(
        _ question: Question, _ desk: DatabaseDesk, from start: String?, limit: Int, within time: Duration,
        _ ask: (DatabaseDesk, Question) throws -> DeskList<Item>, _ found: ([Item]) -> Void
    ) throws -> String? {
        let deadline = ContinuousClock.now + time
        var (cursor, count) = (start, 0)
        repeat {
            var part = question
            part.part = question.part.part(after: cursor, limit: min(Question.mostInPage, limit - count))
            let list = try ask(desk, part)
            found(list.items)
            count += list.items.count
            cursor = list.next
        } while cursor != nil && count < limit && .now < deadline
        return cursor
    }

    private static func count<Question: DeskListQuestion, Item>(
        _ question: Question, _ desk: DatabaseDesk, _ ask: (DatabaseDesk, Question) throws -> DeskList<Item>
    ) throws -> DeskCount {
        var count: Int64 = 0
        let rest = try read(
            question, desk, from: nil, limit: Int(CappedCount.cap), within: patience.count, ask
        ) { count += Int64($0.count) }
        return DeskCount(count, isCapped: rest != nil)
    }

    private static func table<Question: DeskListQuestion, Item>(
        _ question: Question, _ desk: DatabaseDesk, _ ask: (DatabaseDesk, Question) throws -> DeskList<Item>
    ) throws -> DeskTable {
        try desk.settings.tables.run {
            var rows: [JSON] = []
            let rest = try read(
                question, desk, from: question.part.cursor, limit: question.part.range.limit, within: patience.table,
                ask
            ) { rows += $0.map(\.json) }
            return DeskTable(rows: rows, next: rest)
        }
    }
}

/// Lets few tables be made at a time: each takes a thread for seconds, and all other questions need one.
package final class TableGate: Sendable {
    private static let most = 2
    private let running = Mutex(0)

    /// - Throws: `DeskError`, 503, where too many are being made.
    func run<Result>(_ body: () throws -> Result) throws -> Result {
        let isOpen = running.withLock { count in
            guard count < TableGate.most else { return false }
            count += 1
            return true
        }
        guard isOpen else {
            throw DeskError.unavailable("\(TableGate.most) tables are being written already; retry in a few seconds.")
        }
        defer { running.withLock { $0 -= 1 } }
        return try body()
    }
}
