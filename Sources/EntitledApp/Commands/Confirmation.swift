import CLI

/// The question before a command that cannot be undone.
///
/// It is asked on a terminal only: a script has no answer to give, and `--json` is for scripts.
struct Confirmation: ParsableArguments {
    @Flag("--yes", "Do not ask for confirmation.") private var isGiven: Bool

    /// Whether the person at the terminal has to be asked.
    func isNeeded(_ context: CommandContext) -> Bool {
        !isGiven && !context.json && context.terminal.ask != nil
    }

    /// Asks, and goes on where no question is needed.
    ///
    /// - Parameters:
    ///   - question: a whole sentence with its question mark.
    ///   - loss: what the command changes, a line each; read only if the question is asked.
    /// - Throws: `CommandFailure` unless the answer is yes.
    func ask(_ question: String, _ context: CommandContext, showing loss: () throws -> [String] = { [] }) throws {
        guard isNeeded(context), let ask = context.terminal.ask else { return }
        for line in try loss() { context.terminal.printError(Terminal.harmless(line)) }
        let answer = ask("\(Terminal.harmless(question)) [yes/no] ").lowercased()
        guard answer == "yes" || answer == "y" else { throw CommandFailure("nothing was changed") }
    }

    /// The same for a command that scripts must not run by mistake either.
    ///
    /// - Throws: `UsageError` where no one can be asked and `--yes` is missing.
    func require(_ question: String, _ context: CommandContext) throws {
        guard isGiven || isNeeded(context) else {
            throw UsageError("this cannot be undone: confirm it with --yes")
        }
        try ask(question, context)
    }
}
