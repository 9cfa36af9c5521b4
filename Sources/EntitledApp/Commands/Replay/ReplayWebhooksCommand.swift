import Base
import CLI
import Database
import Duties
import Glibc
import Operator
import Postgres
import Schemas

/// `entitled replay webhooks`.
struct ReplayWebhooksCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "webhooks", "Resend events to an endpoint.",
        discussion:
            "The replay is a job in the database that this command drives and shows. If the command is interrupted, a worker"
            + " continues the job; the same command line shows it again, and resumes one that failed. New events are sent"
            + " first. Events keep their ids, so a consumer that deduplicates handles each once. With --url a worker does it, for"
            + " the role operator, --reason is required, and --json prints the answers of the operator API.",
        examples: [
            "replay webhooks --endpoint ID --since 24h --dry-run", "replay webhooks --endpoint ID --since 24h",
            "replay webhooks --endpoint ID --since 2026-11-01T00:00:00Z --missing --rate 50",
        ])

    @Option("--endpoint", .text("ID"), "The endpoint's id, as `endpoints list` shows it.") private var endpointID:
        String
    @Option("--since", .moment, "Start of the period, inclusive.") private var since: TimeArgument
    @Option("--until", .moment, "End of the period; default: now.") private var until: TimeArgument?
    @Flag("--failed", "Dead deliveries only (default).") private var isFailed: Bool
    @Flag("--missing", "Events that match the endpoint's filters and have no delivery.") private var isMissing: Bool
    @Flag("--all", "All events that match the endpoint's filters, delivered or not.") private var isAll: Bool
    @Option("--event", .text("TYPE"), "Limit to this event type.") private var events: [String]
    @Option("--rate", .integer(1...10_000, "N"), "Maximum deliveries per second.") private var rate: Int?
    @Flag("--dry-run", "Count only; send nothing.") private var isDry: Bool
    @OptionGroup private var change: ChangeOptions

    private var modes: [WebhookReplay.Mode] {
        WebhookReplay.Mode.allCases.filter { mode in
            switch mode {
            case .failed: isFailed
            case .missing: isMissing
            case .all: isAll
            }
        }
    }

    func validate() throws {
        guard modes.count <= 1 else {
            throw UsageError("\(modes.map { "--\($0.rawValue)" }.joined(separator: " and ")) cannot be combined")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        guard context.remote == nil else { return try ask(context) }
        try change.checkLocal()
        let configuration = try context.configuration()
        let database = try DatabaseAccess(configuration)
        let now = SystemClock().now()
        let replay = WebhookReplay(
            endpoint: endpointID, mode: modes.first ?? .failed,
            since: try since.milliseconds(ofOption: "--since", now: now),
            until: until?.milliseconds(now: now), types: events)
        if let until = replay.until, until <= replay.since { throw UsageError("--until must be after --since") }
        let connection = try database.connect(isDry ? .api : .worker)
        let endpoint = try EndpointCommands.find(endpointID, on: connection)
        if let misuse = replay.misuse(of: endpoint) { throw UsageError(misuse) }
        if endpoint.isOperations {
            try checkOperations()
        } else {
            try EndpointFilters.check(
                events: events, apps: [], format: endpoint.format, configuration, context)
        }
        return isDry
            ? try count(replay, on: connection, context) : try send(replay, to: endpoint, on: connection, context)
    }

    /// Asks the operator API for it. Times count from this host's clock, as here.
    private func ask(_ context: CommandContext) throws -> Int32 {
        let now = SystemClock().now()
        let since = Timestamp.text(try since.milliseconds(ofOption: "--since", now: now))
        let end = until.map { Timestamp.text($0.milliseconds(now: now)) }
        let filter =
            [
                JSON.Member(name: "endpoint", value: .string(endpointID)),
                JSON.Member(name: "mode", value: .string((modes.first ?? .failed).rawValue)),
                JSON.Member(name: "since", value: .string(since)),
            ] + RemoteReplay.members([("until", end), ("type", events.isEmpty ? nil : events.joined(separator: ","))])
        let rest = RemoteReplay.rate(rate)
        guard isDry else { return try RemoteReplay.ask(.replayWebhooks, filter, rest, change, context) }
        let shown = try JobAsker(context).preview(.replayWebhooks, filter, more: rest)
        guard !context.json else {
            context.terminal.document(shown)
            return ExitStatus.done
        }
        let rows = shown["rows"] ?? .null
        let more = rows["is_complete"] == .bool(true) ? "" : " or more"
        if let refusal = shown["refusal"]?.stringValue {
            context.terminal.printError(Terminal.harmless("it would be refused: \(refusal)"))
        }
        context.terminal.print(
            "\(rows.cell("would_queue"))\(more) would be sent"
                + ReplayText.skipped(rows["skipped"]?["not_kept"]?.intValue ?? 0))
        return ExitStatus.done
    }

    private func checkOperations() throws(UsageError) {
        for event in events where !OperationsEvent.isOne(event) {
            let known = OperationsEvent.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--event \(event): there is no such operations event; known are \(known)")
        }
    }

    // MARK: - Counting

    private func count(
        _ replay: WebhookReplay, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> Int32 {
        var bar = ProgressBar(context.terminal)
        let counts = try WebhookReplayCount.count(replay, on: connection) { counts, fraction in
            bar.show(fraction, "\(counts.queued) to send")
        }
        bar.clear()
        guard let counts else { throw try EndpointCommands.noSuch(endpointID, on: connection) }
        if context.json {
            context.terminal.document(
                .object([
                    "matched": .int(counts.matched), "queued": .int(0), "skipped": .int(counts.skipped),
                    "dry_run": .bool(true),
                ]))
        } else {
            context.terminal.print("\(counts.queued) would be sent\(ReplayText.skipped(counts.skipped))")
        }
        return 0
    }

    // MARK: - Sending

    private func send(
        _ replay: WebhookReplay, to endpoint: Endpoint, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> Int32 {
        if let reason = endpoint.disabledReason {
            throw CommandFailure(
                "endpoint \(endpoint.id) is disabled (\(reason)): enable it first, with: entitled endpoints enable \(endpoint.id)"
            )
        }
        let origin = ActionTable.Origin.commandLine(context.environment, reason: nil)
        let request = replay.request(
            since: since.text, until: until?.text, words: rate.map { ["\($0)/s"] } ?? [],
            rate: rate, madeBy: origin.actor)
        let opened = try JobTable.open(request, on: connection)
        if !opened.isNew, !context.json {
            context.terminal.print(
                "resuming replay \(opened.job.id), started \(context.terminal.time(opened.job.created))")
        }
        let (job, lacksWorker) = try attend(opened.job, on: connection, context)
        return try tell(job, lacksWorker, context)
    }

    /// Until it is over, or waits for a worker where none is.
    private func attend(
        _ job: Job, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> (job: Job, lacksWorker: Bool) {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        var lacksWorker = false
        // One that is starting shows itself by then.
        var nextLook = ContinuousClock.now + .seconds(2)
        let attendant = JobDriver(job.id, kinds: [WebhookReplayWork.kind])
        let end = try attendant.attend(on: connection, rest: { usleep(UInt32(clamping: $0.milliseconds * 1000)) }) {
            job, isWaiting in
            bar.show(job.fraction, "\(job.counts.queued) queued\(isWaiting ? ", waiting for the consumer" : "")")
            guard isWaiting, ContinuousClock.now >= nextLook else { return false }
            nextLook = ContinuousClock.now + .seconds(2)
            lacksWorker = try !JobTable.isWorkerRunning(on: connection)
            return lacksWorker
        }
        return (end, lacksWorker)
    }

    private func tell(_ job: Job, _ lacksWorker: Bool, _ context: CommandContext) throws -> Int32 {
        if job.state == .failed { throw CommandFailure("replay \(job.id) stopped: \(job.error ?? "")") }
        if job.state == .cancelled { throw CommandFailure("replay \(job.id) was cancelled") }
        if context.json {
            context.terminal.document(
                .object([
                    "matched": .int(job.counts.matched), "queued": .int(job.counts.queued),
                    "skipped": .int(job.counts.skipped), "dry_run": .bool(false), "job": .int(job.id),
                    "state": .string(job.state.rawValue),
                ]))
            return 0
        }
        if lacksWorker {
            context.terminal.print(
                "no worker is running, so nothing is sent: the next worker that starts resumes replay \(job.id)")
        } else {
            context.terminal.print(
                "\(job.counts.queued) queued\(ReplayText.skipped(job.counts.skipped)); see `entitled deliveries list"
                    + " --endpoint \(endpointID)`")
        }
        return 0
    }
}

/// What commands say about replays.
enum ReplayText {
    static func skipped(_ count: Int64) -> String {
        count == 0 ? "" : "; \(count) cannot be sent any more, because retention has dropped their bodies"
    }
}
