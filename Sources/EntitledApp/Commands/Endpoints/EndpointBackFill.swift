import Base
import CLI
import Database
import Duties
import Postgres

/// Events of before an endpoint was added, sent to it as a job of its own.
enum EndpointBackFill {
    /// Call it in the transaction that adds the endpoint. Nil if nothing of before is wanted.
    static func make(
        for endpoint: String, _ since: TimeArgument?, now: Int64, _ context: CommandContext,
        on connection: PostgresConnection
    ) throws -> Job? {
        guard let since else { return nil }
        let replay = WebhookReplay(
            endpoint: endpoint, mode: .missing, since: try since.milliseconds(ofOption: "--since", now: now),
            until: nil, types: [])
        let origin = ActionTable.Origin.commandLine(context.environment, reason: nil)
        return try JobTable.make(
            replay.request(since: since.text, until: nil, rate: nil, madeBy: origin.actor), on: connection)
    }

    static func text(_ job: Job, on connection: PostgresConnection) throws -> String {
        let sender =
            try JobTable.isWorkerRunning(on: connection) ? "a worker sends" : "no worker is running; the next one sends"
        return "\(sender) it the events since then; see `entitled replay show \(job.id)`"
    }
}
