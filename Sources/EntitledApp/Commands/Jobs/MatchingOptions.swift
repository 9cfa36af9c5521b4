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
    /// - Returns: the exit status.
    func ask(
        _ request: BulkRequest, _ filters: [(name: String, value: String?)], verb: String, words: String,
        _ change: ChangeOptions, _ context: CommandContext
    ) throws -> Int32 {
        let filter = filters.compactMap { filter in
            filter.value.map { JSON.Member(name: filter.name, value: .string($0)) }
        }
        let selection = [
            JSON.Member(name: "kind", value: .string(request.rawValue)),
            JSON.Member(name: "filter", value: .object(filter)),
        ]
        let actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
        let local = try context.remote == nil ? LocalOperator(try context.configuration(), isChanging: true) : nil
        func preview(_ document: JSON) throws -> JSON {
            if let local { return try local.preview(document, by: actor) }
            return try context.remote?.preview(["jobs"], document) ?? .null
        }
        let shown = try preview(.object(selection))
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
        let document = JSON.object(selection + [JSON.Member(name: "reason", value: .string(reason))])
        let plan = shown["plan"]?.stringValue
        if let local {
            let job = try local.post(document, plan: plan, by: actor)
            let answer = JSON.object([
                "job": .int(job), "kind": .string(shown.cell("kind")), "state": .string("running"),
            ])
            return try change.tell(job, answer, of: local, context)
        }
        guard let remote = context.remote else { return ExitStatus.failed }
        let answer = try remote.post(["jobs"], document, plan: plan).answer
        guard let job = answer["job"]?.intValue else {
            throw CommandFailure("the answer of the operator API names no job")
        }
        return try change.tell(job, answer, of: remote, context)
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
