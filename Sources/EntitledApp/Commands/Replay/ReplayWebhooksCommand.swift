import Base
import CLI
import Database
import Duties
import Glibc
import Postgres
import Schemas

/// `entitled replay webhooks`.
struct ReplayWebhooksCommand: Command {
    static let declaration = ReplayOptions.webhooks
    private let options: ReplayOptions.Webhooks

    init(_ parsed: ParsedArguments) throws {
        options = try ReplayOptions.Webhooks(parsed)
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let database = try DatabaseAccess(configuration)
        let now = SystemClock().now()
        let replay = WebhookReplay(
            endpoint: options.endpoint, mode: options.mode,
            since: try options.since.milliseconds(ofOption: "--since", now: now),
            until: options.until?.milliseconds(now: now), types: options.events)
        if let until = replay.until, until <= replay.since { throw UsageError("--until must be after --since") }
        let connection = try database.connect(options.isDry ? .api : .worker)
        let endpoint = try EndpointCommands.find(options.endpoint, on: connection)
        if let misuse = replay.misuse(of: endpoint) { throw UsageError(misuse) }
        if endpoint.isOperations {
            try checkOperations()
        } else {
            try EndpointFilters.check(
                events: options.events, apps: [], format: endpoint.format, configuration, context)
        }
        return options.isDry
            ? try count(replay, on: connection, context) : try send(replay, to: endpoint, on: connection, context)
    }

    private func checkOperations() throws(UsageError) {
        for event in options.events where !OperationsEvent.isOne(event) {
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
        guard let counts else { throw try EndpointCommands.noSuch(options.endpoint, on: connection) }
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
            since: options.since.text, until: options.until?.text, words: options.rate.map { ["\($0)/s"] } ?? [],
            rate: options.rate, madeBy: origin.actor)
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
                "\(job.counts.queued) queued\(ReplayText.skipped(job.counts.skipped)); see: entitled deliveries list"
                    + " --endpoint \(options.endpoint)")
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
