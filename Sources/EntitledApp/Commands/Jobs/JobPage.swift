import Base
import CLI

/// A job on a command line.
struct JobArgument: ParsableArguments {
    @Argument(.integer(1...Int64.max, "N"), "The job's number, as `jobs list` shows it.") var number: Int64
}

/// Jobs for people.
enum JobPage {
    static func show(_ bytes: [UInt8], _ context: CommandContext) throws {
        guard !context.json else { return try context.document(bytes) }
        let job = try JSON(ordered: bytes)
        let isOver = job.cell("finished_at") != ""
        let error = job.cell("error")
        AnswerPage.record(
            [
                ("job", "\(job.cell("id")) \(job.cell("kind")): \(job.cell("request"))"),
                ("state", job.cell("state") + (error.isEmpty ? "" : ": \(error)")),
                ("target", job.cell("target")), ("reason", job.cell("reason")),
                ("done", AnswerPage.percent(job)), ("matched", job.cell("matched")), ("queued", job.cell("queued")),
                ("skipped", job.cell("skipped")),
                ("rate", job["rate"]?.intValue.map { "\($0) each second" } ?? ""),
                ("outcome", outcome(job["outcome"])), ("deliveries", outcome(job["deliveries"])),
                ("made", "\(AnswerPage.time(job, "created_at", context)) by \(job.cell("made_by"))"),
                (isOver ? "ended" : "moved", AnswerPage.time(job, isOver ? "finished_at" : "updated_at", context)),
            ], context)
    }

    /// `state pending, …`: the members of what came of a change; empty where that is not known.
    static func outcome(_ json: JSON?) -> String {
        (json?.members ?? []).map { "\($0.name.replacing("_", with: " ")) \(json?.cell($0.name) ?? "")" }
            .joined(separator: ", ")
    }

    /// Waits until a job is over.
    ///
    /// - Returns: its document.
    static func wait(for number: Int64, of source: any OperatorSource, _ context: CommandContext) throws -> [UInt8] {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        var failures = 0
        while true {
            do {
                let bytes = try source.get(["jobs", String(number)], [])
                let job = try JSON(ordered: bytes)
                guard job.cell("state") == "running" else { return bytes }
                bar.show(job.fraction("done"), "\(job.cell("queued")) queued")
                failures = 0
                Pause.wait(interval)
            } catch let refusal as OperatorRefusal where [429, 503].contains(refusal.status) && failures < patience {
                failures += 1
                Pause.wait(.seconds(Int64(clamping: min(30, max(1, refusal.retryAfter ?? 1)))))
            } catch let failure as OperatorClient.Unanswered where failure.mayPass && failures < patience {
                failures += 1
                Pause.wait(interval)
            }
        }
    }

    private static let interval = Duration.seconds(1)
    /// Answers that may be missing in a row.
    private static let patience = 10

    /// Shows a job that is over.
    ///
    /// - Returns: the exit status.
    static func end(_ bytes: [UInt8], _ context: CommandContext) throws -> Int32 {
        try show(bytes, context)
        let job = try JSON(ordered: bytes)
        guard job.cell("state") != "done" else { return ExitStatus.done }
        context.terminal.complain("job \(job.cell("id")) was not done: its state is \(job.cell("state"))")
        return ExitStatus.failed
    }
}
