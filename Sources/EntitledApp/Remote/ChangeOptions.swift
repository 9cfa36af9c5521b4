import Base
import CLI
import Database

/// Options of a change that a worker makes where `--url` asks for it.
struct ChangeOptions: ParsableArguments {
    @Option("--reason", .text("TEXT"), "With --url, the reason, which the audit keeps; required there.")
    private var reason: String?
    @Flag(ChangeCall.wait) private var waits: Bool

    static let help =
        "With --url a worker makes the change, and --json prints the answer of the operator API."

    func ask(
        _ remote: OperatorClient, _ path: [String], _ context: CommandContext,
        _ members: KeyValuePairs<String, JSON?> = [:], method: String = "POST", plan: String? = nil
    ) throws -> Int32 {
        try ChangeCall(reason: reason, waits: waits).ask(
            remote, path, context, JSON.object(members).members ?? [], method: method, plan: plan)
    }

    /// The same with members that the caller made.
    func ask(
        _ remote: OperatorClient, _ path: [String], _ context: CommandContext, body members: [JSON.Member],
        method: String
    ) throws -> Int32 {
        try ChangeCall(reason: reason, waits: waits).ask(remote, path, context, members, method: method)
    }

    /// The same for a change whose answer the caller shows.
    ///
    /// - Returns: the answer, and whether the change is over.
    func post(
        _ remote: OperatorClient, _ path: [String], _ members: KeyValuePairs<String, JSON?>
    ) throws -> (answer: JSON, isOver: Bool) {
        try post(remote, path, body: JSON.object(members).members ?? [])
    }

    /// The same with members that the caller made.
    func post(
        _ remote: OperatorClient, _ path: [String], body members: [JSON.Member]
    ) throws -> (answer: JSON, isOver: Bool) {
        try ChangeCall(reason: reason, waits: waits).post(remote, path, members)
    }

    /// Asks for a change that needs no reason.
    func ask(
        _ context: CommandContext, _ path: [String], _ members: KeyValuePairs<String, JSON?>
    ) throws -> Int32 {
        guard let remote = context.remote else { throw UsageError("this option needs --url") }
        return try ChangeCall(reason: reason, waits: waits, needsReason: false).ask(remote, path, context, members)
    }

    /// The reason of a change that the audit has, wherever it is asked for.
    ///
    /// - Parameter standard: of a change on the host.
    func reason(_ context: CommandContext, standard: String) throws(UsageError) -> String {
        if let reason { return reason }
        guard context.remote == nil else { throw ChangeCall.reasonless }
        return standard
    }

    /// Tells what came of a job, or where that will be seen.
    ///
    /// - Returns: the exit status.
    func tell(_ job: Int64, _ answer: JSON, of source: any OperatorSource, _ context: CommandContext) throws -> Int32 {
        guard !waits else { return try JobPage.end(try JobPage.wait(for: job, of: source, context), context) }
        guard !context.json else {
            context.terminal.document(answer)
            return ExitStatus.done
        }
        context.terminal.paragraph(ChangeCall.underWay(job))
        return ExitStatus.done
    }

    /// Checks that nothing is given, of a command that changes nothing.
    func checkUnused() throws(UsageError) {
        if reason != nil { throw UsageError("--reason needs a change, which nothing asks for") }
        if waits { throw UsageError("--wait needs a change, which nothing asks for") }
    }

    /// Checks that nothing is given that only the operator API keeps.
    func checkLocal() throws(UsageError) {
        if reason != nil { throw UsageError("--reason needs --url: on the host this command keeps no audit") }
        if waits { throw ChangeCall.needless }
    }
}

/// Asks the operator API for a change and tells what came of it.
struct ChangeCall {
    /// The answer, and whether the change is over.
    func post(
        _ remote: OperatorClient, _ path: [String], _ members: [JSON.Member], method: String = "POST",
        plan: String? = nil
    ) throws -> (answer: JSON, isOver: Bool) {
        if needsReason, reason == nil { throw ChangeCall.reasonless }
        let body =
            members
            + (reason.map { [JSON.Member(name: "reason", value: .string($0))] } ?? [])
        return try remote.post(path, .object(body), method: method, plan: plan)
    }

    static let wait = OptionDeclaration(
        "--wait", "With --url, wait for the outcome however long it takes; without it up to five seconds.")

    static let reasonless = UsageError("a change by --url needs --reason, which the audit keeps")

    static func underWay(_ job: Int64) -> String {
        "job \(job) is under way; `entitled jobs show \(job) --wait` tells what comes of it"
    }

    static let needless = UsageError("--wait needs --url: on the host the change is made at once")

    let reason: String?
    let waits: Bool
    var needsReason = true

    /// - Parameters:
    ///   - path: of the change, below `/operator/v1`.
    ///   - members: of its body, beside the reason.
    /// - Returns: the exit status.
    func ask(
        _ remote: OperatorClient, _ path: [String], _ context: CommandContext, _ members: KeyValuePairs<String, JSON?>
    ) throws -> Int32 {
        try ask(remote, path, context, JSON.object(members).members ?? [])
    }

    /// The same with members that the caller made.
    func ask(
        _ remote: OperatorClient, _ path: [String], _ context: CommandContext, _ members: [JSON.Member],
        method: String = "POST", plan: String? = nil
    ) throws -> Int32 {
        let (answer, isOver) = try post(remote, path, members, method: method, plan: plan)
        guard let job = answer["job"]?.intValue else {
            throw CommandFailure("the answer of the operator API names no job: \(answer.text.prefix(200))")
        }
        if !isOver, waits {
            return try JobPage.end(try JobPage.wait(for: job, of: remote, context), context)
        }
        guard !context.json else {
            context.terminal.document(answer)
            return ExitStatus.done
        }
        guard isOver else {
            context.terminal.paragraph(ChangeCall.underWay(job))
            return ExitStatus.done
        }
        let outcome = JobPage.outcome(answer["outcome"])
        context.terminal.paragraph(
            Terminal.harmless(
                "\(answer.cell("kind")) of \(answer.cell("target")) is done\(outcome.isEmpty ? "" : ": \(outcome)")"
                    + " (job \(job))"))
        return ExitStatus.done
    }
}
