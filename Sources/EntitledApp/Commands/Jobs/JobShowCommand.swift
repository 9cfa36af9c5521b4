import CLI

/// `entitled jobs show`.
struct JobShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a job, its progress and its outcome.",
        discussion: "--json prints the answer of the operator API.",
        examples: ["jobs show 12", "jobs show 12 --wait", "jobs show 12 --watch 2s"])

    @OptionGroup private var job: JobArgument
    @Flag("--wait", "Wait until the job has ended; exit status 1 unless its state is done.") private var waits: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        let source = try context.operators()
        guard !waits else { return try JobPage.end(try JobPage.wait(for: job.number, of: source, context), context) }
        try JobPage.show(try source.get(["jobs", String(job.number)], []), context)
        return 0
    }
}
