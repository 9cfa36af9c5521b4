import Base
import CLI
import Database
import Duties
import Operator
import Postgres
import Schemas

/// A replay, as `entitled replay show` and `cancel` print it.
enum ReplayJobPage {
    static let id = ArgumentDeclaration(.integer(1...Int64.max, "ID"), "Replay number from `replay list`.")

    static func noSuch(_ id: Int64) -> CommandFailure {
        CommandFailure("there is no replay \(id); see `entitled replay list`")
    }

    static func show(_ job: Job, _ context: CommandContext) {
        guard !context.json else {
            context.terminal.document(job.json)
            return
        }
        context.terminal.print(
            """
            replay   \(job.id) of \(job.kind): \(Terminal.harmless(job.request))
            state    \(job.state.rawValue)\(job.error.map { ": \(Terminal.harmless($0))" } ?? "")
            done     \(Int(job.fraction * 100)) %
            matched  \(job.counts.matched)
            queued   \(job.counts.queued)
            skipped  \(job.counts.skipped)
            rate     \(job.rate.map { "\($0) each second" } ?? "as fast as the consumer takes them")
            made     \(context.terminal.time(job.created)) by \(Terminal.harmless(job.madeBy))
            \(job.finished == nil ? "moved  " : "ended  ")  \(context.terminal.time(job.finished ?? job.updated))
            """)
    }
}
