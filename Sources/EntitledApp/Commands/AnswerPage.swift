import Base
import CLI

/// Options of lists that are of no period.
struct CursorOptions: ParsableArguments {
    @Option("--after", .text("CURSOR"), "Start after the page that ended with this cursor.") var after: String?
    @Option(ListLimit.option) var limit: Int = ListLimit.standard
}

/// Shows lists of the operator API: its document for programs, a table and what follows it for people.
enum AnswerPage {
    /// - Parameters:
    ///   - empty: a sentence without its full stop, for a list without rows.
    ///   - isFirst: whether the page begins with the list.
    static func show(
        _ list: AnswerList, _ table: TextTable, empty: String, isFirst: Bool = true, _ context: CommandContext
    ) {
        guard !context.json else { return context.terminal.document(list.document) }
        guard !list.items.isEmpty || list.next != nil else {
            return context.terminal.print(isFirst ? empty : "no more rows")
        }
        if !list.items.isEmpty { context.terminal.table(table) }
        tellNext(list.next, lookedBackTo: list.lookedBackTo, context)
    }

    /// That there is more, or may be.
    static func tellNext(_ next: String?, lookedBackTo: String?, _ context: CommandContext) {
        guard let next else { return }
        context.terminal.print("")
        let how = lookedBackTo.map { "Looked back to \($0); there may be more" } ?? "There are more"
        context.terminal.paragraph("\(how): repeat the command with --after \(next)")
    }

    /// Lines such as `name    value`, whose names are padded; empty values are left out.
    static func record(_ rows: [(name: String, value: String)], _ context: CommandContext) {
        let width = rows.map(\.name.count).max() ?? 0
        let lines = rows.filter { !$0.value.isEmpty }.map { name, value in
            name + String(repeating: " ", count: width - name.count + 2) + Terminal.harmless(value)
        }
        context.terminal.record(lines.joined(separator: "\n"))
    }

    /// The instant of a member, as people read it; empty for null.
    static func time(_ json: JSON, _ name: String, _ context: CommandContext) -> String {
        json.instant(name).map(context.terminal.time) ?? ""
    }

    /// Of an answer that may say anything: 0 to 100.
    static func percent(_ json: JSON) -> String {
        let share = json.fraction("done")
        return "\(share > 0 ? Int((min(share, 1) * 100).rounded(.down)) : 0) %"
    }

    /// A number that is counted up to a limit.
    static func count(_ json: JSON?) -> String {
        guard let value = json?["value"]?.intValue else { return "" }
        return json?["is_capped"]?.boolValue == true ? "\(value) or more" : String(value)
    }
}
