import Base
import CLI
import Database

/// The part of a list that is asked for on a command line: a period, and a page of it.
struct ListPageOptions: ParsableArguments {
    @Option("--since", .moment, "Start of the period, inclusive.") private var since: TimeArgument?
    @Option("--until", .moment, "End of the period, exclusive.") private var until: TimeArgument?
    @Option("--after", .text("CURSOR"), "Start after the page that ended with this cursor.") private var after: String?
    @Option(ListLimit.option) var limit: Int = ListLimit.standard

    /// The range that is asked for.
    ///
    /// - Parameter filters: the list's name and the values of its filters, in a fixed order.
    func range(_ filters: [String?], now: Int64) throws(UsageError) -> ListRange {
        let (from, to) = (since?.milliseconds(now: now), until?.milliseconds(now: now))
        if let from, let to, to <= from { throw UsageError("--until must be after --since") }
        var cursor: ListCursor?
        if let after {
            do {
                cursor = try ListCursor(text: after, filters: spelled(filters))
            } catch {
                throw UsageError("--after \(error)")
            }
        }
        return ListRange(since: from, until: to, after: cursor, limit: limit)
    }

    /// The text of the cursor that the next page begins after; nil for the last page.
    func next(_ page: ListPage<some Sendable>, _ filters: [String?]) -> String? {
        page.next?.text(filters: spelled(filters))
    }

    var isFirst: Bool { after == nil }

    /// The part of a list of the operator API.
    func list(
        _ path: [String], _ filters: [(name: String, value: String?)], of source: any OperatorSource
    ) throws -> AnswerList {
        try source.list(path, filters + [("since", since?.text), ("until", until?.text)], after: after, limit: limit)
    }

    /// Shows a list of the operator API as the command shows that of the database.
    func show(_ name: String, _ list: AnswerList, _ table: TextTable, _ context: CommandContext) {
        if let seen = list.lookedBackTo, context.json {
            context.terminal.document(
                .object([name: .array(list.items), "next": .text(list.next), "looked_back_to": .string(seen)]))
        } else if context.json || list.lookedBackTo == nil {
            show(name, list.items, table, next: list.next, context)
        } else {
            if !list.items.isEmpty { context.terminal.table(table) }
            AnswerPage.tellNext(list.next, lookedBackTo: list.lookedBackTo, context)
        }
    }

    /// Prints a page as a document, with `next` beside the rows, or as a table with a line about the next page.
    func show(
        _ name: String, _ rows: [JSON], _ table: TextTable, next: String?, _ context: CommandContext
    ) {
        if context.json {
            context.terminal.document(.object([name: .array(rows), "next": .text(next)]))
            return
        }
        guard !rows.isEmpty else {
            context.terminal.print(after == nil ? "no \(name)" : "no more \(name)")
            return
        }
        context.terminal.table(table)
        if let next {
            context.terminal.print("")
            context.terminal.paragraph("There are more: repeat the command with --after \(next)")
        }
    }

    private func spelled(_ filters: [String?]) -> String {
        let all = filters + [since?.text, until?.text]
        return all.map { $0.map { "\($0.utf8.count):\($0)" } ?? "-" }.joined(separator: " ")
    }
}
