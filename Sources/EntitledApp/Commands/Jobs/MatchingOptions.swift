import Base
import CLI
import Database
import Operator

/// Options of a change of all rows that a list has with its filters: a job of several steps, which a worker does.
struct MatchingOptions: ParsableArguments {
    @Flag("--matching", "Change all that match the filters, instead of one.") var isGiven: Bool
    @Flag("--preview", "With --matching, show what would be changed, and change nothing.") private var isPreview: Bool
    @OptionGroup private var confirmation: Confirmation

    static let help =
        "With --matching a worker changes everything that the list shows with the same filters, as a job, requested"
        + " on the host or with --url."

    /// - Parameters:
    ///   - target: the id of one row, if it was given.
    ///   - filters: names and values, with those that were not given as nil.
    func check(_ target: String?, named name: String, _ filters: [(name: String, value: String?)]) throws(UsageError) {
        guard isGiven else {
            if isPreview { throw UsageError("--preview needs --matching") }
            guard target != nil else { throw UsageError("one of \(name) and --matching is required") }
            return
        }
        if target != nil { throw UsageError("\(name) and --matching cannot be combined") }
        if !filters.contains(where: { $0.value != nil }) { throw UsageError("--matching needs a filter") }
    }

    /// Shows what the change comes to, asks a person at a terminal, and asks for the job.
    ///
    /// - Parameters:
    ///   - verb: such as `Send again`.
    ///   - words: of the command.
    ///   - more: members of the request beside the filter.
    /// - Returns: the exit status.
    func ask(
        _ request: BulkRequest, _ filters: [(name: String, value: String?)], verb: String, words: String,
        more: [JSON.Member] = [], _ change: ChangeOptions, _ context: CommandContext
    ) throws -> Int32 {
        let filter = filters.compactMap { filter in
            filter.value.map { JSON.Member(name: filter.name, value: .string($0)) }
        }
        let asker = try JobAsker(context)
        let shown = try asker.preview(request, filter, more: more)
        guard !isPreview else {
            if context.json {
                context.terminal.document(shown)
            } else {
                for line in MatchingOptions.lines(shown) { context.terminal.print(Terminal.harmless(line)) }
            }
            return ExitStatus.done
        }
        let reason = try change.reason(context, standard: "entitled \(words) --matching")
        let rows = shown["rows"]
        let count = (rows?["is_complete"] == .bool(true) ? "" : "at least ") + (rows?.cell("would_queue") ?? "")
        try confirmation.ask("\(verb) \(count)?", context) { MatchingOptions.lines(shown) }
        let asked = try asker.ask(
            request, filter, more: more, plan: shown["plan"]?.stringValue, reason: reason)
        return try change.tell(asked.job, asked.answer, of: asker.source, context)
    }

    /// `matched 12`, what is left out and why, and by endpoint.
    private static func lines(_ preview: JSON) -> [String] {
        let rows = preview["rows"]
        let isComplete = rows?["is_complete"] == .bool(true)
        func counts(_ name: String) -> [String] {
            (rows?[name]?.members ?? []).map { "  \($0.name) \($0.value.text)" }
        }
        return [
            "matched      \(rows?.cell("matched") ?? "")\(isComplete ? "" : ", and more")",
            "would change \(rows?.cell("would_queue") ?? "")\(isComplete ? "" : ", and more")",
        ] + counts("by_endpoint") + (counts("skipped").isEmpty ? [] : ["left out"] + counts("skipped"))
    }
}
