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

    /// What it is about: of a change of an operator its parameters say it, and its request is a key.
    static func about(_ job: Job) -> String {
        guard ChangeKind(rawValue: job.kind) != nil else { return job.request }
        if let replay = WebhookReplay(json: job.parameters) {
            let until = replay.until.map { Timestamp.text($0) } ?? "now"
            let about = replay.missed.map { "about \(period($0.lowerBound, $0.upperBound))" }
            let words = [replay.endpoint, replay.mode.rawValue, about ?? "\(Timestamp.text(replay.since)) to \(until)"]
            return (words + replay.types).joined(separator: " ")
        }
        guard let replay = HistoryReplay(json: job.parameters) else { return "its parameters cannot be read" }
        return ([replay.target, period(replay.from, replay.until)] + replay.question.types).joined(separator: " ")
    }

    private static func period(_ from: Int64, _ until: Int64) -> String {
        "\(Timestamp.text(from)) to \(Timestamp.text(until))"
    }

    static func show(_ job: Job, _ context: CommandContext) {
        guard !context.json else {
            context.terminal.document(job.json)
            return
        }
        context.terminal.print(
            """
            replay   \(job.id) of \(job.kind): \(Terminal.harmless(about(job)))
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
