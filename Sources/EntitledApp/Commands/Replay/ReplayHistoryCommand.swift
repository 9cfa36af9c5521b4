import AppStore
import AppStoreAPI
import Base
import CLI
import Daemon
import Database
import Duties
import Glibc
import Ingest
import Operator
import Postgres
import Schemas

/// `entitled replay history`.
struct ReplayHistoryCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "history", "Refetch a period of Apple's notification history.",
        discussion:
            "Apple stores notifications for 180 days, those of the sandbox for 30. Missing notifications are verified and"
            + " applied as if Apple had sent them; known ones do not change. A worker does the same by itself for every app"
            + " with server_api. Events about the time before the last 7 days are stored, but not sent, except with"
            + " --send-events. The replay is a job in the database: the same command line, run again after an interruption,"
            + " continues it. With --url a worker does it, for the role operator: --reason is required, --dry-run is a job, too,"
            + " which only counts, and --json prints the answers of the operator API.",
        examples: [
            "replay history --app demo --from 7d --to 0s --dry-run",
            "replay history --app demo --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z --only-failures",
        ])

    @Option("--app", .text("ID"), "The app, by its id in the configuration.") private var appID: String
    @Option("--from", .moment, "Start of the period in which Apple sent, inclusive.") private var from: TimeArgument
    @Option("--to", .moment, "End of the period in which Apple sent, exclusive.") private var to: TimeArgument
    @Option("--environment", .environment, "Environment; default: Production if the app has it.")
    private var environment: StoreEnvironment?
    @Flag("--only-failures", "Only notifications that Apple could not deliver.") private var onlyFailures: Bool
    @Option("--type", .text("TYPE"), "Only notifications of this type.") private var types: [String]
    @Option("--transaction", .text("ID"), "Only notifications of the customer who owns this transaction.")
    private var transactionID: String?
    @Flag("--send-events", "Send events however old they are.") private var sendsEvents: Bool
    @Option("--rate", .integer(1...50, "N"), "Maximum pages of 20 notifications per second.") private var rate: Int?
    @Flag("--dry-run", "Count only; store nothing.") private var isDry: Bool
    @OptionGroup private var change: ChangeOptions

    func validate() throws {
        if let transactionID, !transactionID.allSatisfy({ $0.isASCII && $0.isNumber }) || transactionID.count > 64 {
            throw UsageError("--transaction: '\(Terminal.harmless(transactionID))' is not a transaction id")
        }
        guard types.count <= HistoryReplay.mostTypes else {
            throw UsageError(
                "--type is given \(types.count) times; \(HistoryReplay.mostTypes) are the most, since each is a question of its own"
            )
        }
        for type in types where !HistoryReplay.isType(type) {
            throw UsageError(
                "--type: '\(Terminal.harmless(type))' is not a notification type of Apple, such as DID_RENEW")
        }
    }

    /// How much older than Apple's history a beginning may be: a limit that was given exactly has passed by now.
    private static let tolerance: Int64 = 600_000

    func run(_ context: CommandContext) throws -> Int32 {
        guard context.remote == nil else { return try ask(context) }
        try change.checkLocal()
        let configuration = try context.configuration()
        let app = try configuration.app(named: appID)
        let replay = try replay(app, now: SystemClock().now())
        let verifier = SignedDataVerifier(trust: try configuration.trustAnchors())
        let access = try ServerAPIAccess(
            app, verifier: verifier, readFile: context.surroundings.readFile, logger: .silent, metrics: Metrics())
        defer { access.close() }
        let admission = NotificationAdmission(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        let reader = HistoryReader(client: access.client, admission: admission)
        let database = try DatabaseAccess(configuration)
        return isDry
            ? try count(replay, by: reader, on: try database.connect(.api), context)
            : try fetch(replay, by: reader, on: try database.connect(.worker), context)
    }

    /// Asks the operator API for it. A transaction names a customer, whose deletion would not find it in a job.
    private func ask(_ context: CommandContext) throws -> Int32 {
        guard transactionID == nil else { throw UsageError("--transaction \(RemoteOptions.onHostOnly)") }
        let now = SystemClock().now()
        let filter = RemoteReplay.members([
            ("app", appID), ("environment", environment?.rawValue),
            ("since", Timestamp.text(from.milliseconds(now: now))),
            ("until", Timestamp.text(to.milliseconds(now: now))),
            ("type", types.isEmpty ? nil : types.joined(separator: ",")),
            ("only_failures", onlyFailures ? "true" : nil), ("send_events", sendsEvents ? "true" : nil),
        ])
        let dry = isDry ? [JSON.Member(name: "dry_run", value: .bool(true))] : []
        return try RemoteReplay.ask(.replayHistory, filter, RemoteReplay.rate(rate) + dry, change, context)
    }

    // MARK: - What is meant

    private func replay(_ app: Configuration.App, now: Int64) throws -> HistoryReplay {
        let environment = self.environment ?? (app.environments.contains(.production) ? .production : .sandbox)
        guard app.environments.contains(environment) else {
            throw UsageError("--environment: the app \(app.id) does not accept data of \(environment.rawValue)")
        }
        let (from, until) = (self.from.milliseconds(now: now), min(now, to.milliseconds(now: now)))
        let reach = NotificationHistoryQuery.reach(in: environment)
        guard from >= now - reach - ReplayHistoryCommand.tolerance else {
            throw UsageError(
                "--from: Apple keeps its history of \(environment.rawValue) for \(reach / 86_400_000) days, so"
                    + " nothing is known before \(Timestamp.text(now - reach))")
        }
        guard from < until else { throw UsageError("--to must be after --from, and --from must be past") }
        let question = HistoryFilter(
            AppScope(app: app.id, environment: environment), types: types,
            transactionID: transactionID, onlyFailures: onlyFailures)
        return HistoryReplay(question, from: from, until: until, sendsEvents: sendsEvents)
    }

    // MARK: - Counting

    private func count(
        _ replay: HistoryReplay, by reader: HistoryReader, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws -> Int32 {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        let counts: JobCounts
        do {
            counts = try HistoryReplayCount.count(replay, by: reader, clock: SystemClock(), on: connection) {
                counts, fraction in bar.show(fraction, "\(counts.matched) found, \(counts.queued) new")
            }
        } catch let error as ServerAPIError {
            throw CommandFailure("\(error)")
        }
        bar.clear()
        tell(counts, job: nil, context)
        return 0
    }

    // MARK: - Fetching

    private func fetch(
        _ replay: HistoryReplay, by reader: HistoryReader, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws -> Int32 {
        let origin = ActionTable.Origin.commandLine(context.environment, reason: nil)
        let opened = try JobTable.open(
            replay.request(
                from: from.text, until: to.text, rate: rate, madeBy: origin.actor),
            on: connection)
        if !opened.isNew, !context.json {
            context.terminal.print(
                "resuming job \(opened.job.id), started \(context.terminal.time(opened.job.created))")
        }
        let job = try attend(opened.job, by: reader, on: connection, context)
        if job.state == .failed { throw CommandFailure("job \(job.id) stopped: \(job.error ?? "")") }
        if job.state == .cancelled { throw CommandFailure("job \(job.id) was cancelled") }
        tell(job.counts, job: job.id, context)
        return 0
    }

    private func attend(
        _ job: Job, by reader: HistoryReader, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> Job {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        let app = appID
        let kind = HistoryReplayWork.kind({ $0 == app ? reader : nil })
        return try JobDriver(job.id, kinds: [kind]).attend(
            on: connection, rest: { usleep(UInt32(clamping: $0.milliseconds * 1000)) }
        ) { job, isWaiting in
            let counts = "\(job.counts.matched) found, \(job.counts.queued) new"
            bar.show(job.fraction, counts + (isWaiting ? ", waiting for Apple" : ""))
            return false
        }
    }

    private func tell(_ counts: JobCounts, job: Int64?, _ context: CommandContext) {
        let duplicates = counts.matched - counts.queued
        if context.json {
            context.terminal.document(
                .object([
                    "found": .int(counts.matched), "new": .int(counts.queued), "duplicates": .int(duplicates),
                    "refused": .int(counts.skipped), "dry_run": .bool(isDry), "job": .integer(job),
                ]))
            return
        }
        let refused =
            counts.skipped == 0
            ? "" : "; \(counts.skipped) were rejected: not signed by Apple, or not for a configured app"
        let new = isDry ? "\(counts.queued) of them not stored yet" : "\(counts.queued) of them new"
        context.terminal.print("\(counts.matched) found, \(new)\(refused)")
    }
}
