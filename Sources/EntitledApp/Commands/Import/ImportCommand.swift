import AppStore
import AppStoreAPI
import Base
import CLI
import Customers
import Daemon
import Database
import Duties
import Glibc
import Ingest
import Postgres
import Schemas
import Subscriptions

/// `entitled import`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "import", "Import customers and purchases from RevenueCat or from tables of your own.",
        discussion:
            "The file is CSV in UTF-8, with commas, semicolons or tabs, also packed by gzip: RevenueCat's scheduled export as"
            + " it is, or columns of your own: app_user_id, one of original_transaction_id, transaction_id, jws, receipt, and,"
            + " if you have them, aliases, environment, first_seen, attributes.NAME. For each row Apple is asked for the whole"
            + " history of the purchase, which is verified and applied like anything that Apple sends, and the customer becomes"
            + " its owner. No webhooks are sent, except with --send-events. Half of what Apple allows an app is left to the"
            + " workers and the api, four fifths while accounts wait for Apple; imports of one app share the rest, of which"
            + " --rate makes less. The import is a job in the database: the same command line, run again after an"
            + " interruption, continues it; importing a file again changes nothing. Rejected rows are written to a file of"
            + " their own, with the reasons; a file that another import or program wrote, or a person changed, is not written"
            + " over. The app needs server_api.",
        examples: [
            "import --csv customers.csv --app demo --dry-run", "import --csv customers.csv --app demo",
            "import --csv transactions_1795730400.csv.gz --app demo --rate 10",
        ])

    @Option("--csv", .file, "The file.") private var path: String
    @Option("--app", .text("ID"), "The app, by its id in the configuration.") private var appID: String
    @Flag("--dry-run", "Ask Apple and count; write nothing.") private var isDry: Bool
    @Flag("--send-events", "Send events of everything that is new, however old it is.") private var sendsEvents: Bool
    @Option(
        "--rate", .integer(1...50, "N"),
        "Maximum requests to Apple per second, of all kinds together; never more than the imports' share, which in production is 25"
            + " of each kind, 10 while accounts wait, and a tenth of that in the sandbox.")
    private var rate: Int?
    @Option("--refused", .file, "Write rejected rows to this file; default: FILE.refused.csv.")
    private var refusedPath: String?

    /// Reasons that a dry run shows.
    private static let shown = 20

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let app = try configuration.app(named: appID)
        let file = try ImportFile(path)
        let refused = context.surroundings.resolve(refusedPath ?? "\(path).refused.csv")
        guard refused != context.surroundings.resolve(path) else {
            throw UsageError("--refused and --csv name the same file")
        }
        let digest = try inspect(file, context)
        let verifier = SignedDataVerifier(trust: try configuration.trustAnchors())
        let access = try ServerAPIAccess(
            app, verifier: verifier, readFile: context.surroundings.readFile,
            share: .imports(count: 1, accountsWait: false), logger: .silent, metrics: Metrics())
        defer { access.close() }
        let lookup = ImportLookup(
            client: access.client,
            admission: TransactionAdmission(
                apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries()),
            receipts: ReceiptVerifier(trust: try configuration.receiptAnchors()), sendsEvents: sendsEvents,
            pace: ImportPace(rate: rate))
        let actions = CustomerActions(configuration, context, reason: nil)
        let database = try DatabaseAccess(configuration)
        if isDry {
            let connection = try database.connect(.api)
            try tellOthers(besides: nil, on: connection, context)
            return try count(file, lookup, actions, on: connection, context)
        }
        let request = ImportRequest(
            app: app.id, digest: digest, path: path, asOf: file.modified, sendsEvents: sendsEvents,
            refusedRows: refused)
        let connection = try database.connect(.worker)
        let refusedRows = RefusedRowsFile(
            refused, columns: file.layout.columns, of: try request.former(on: connection))
        do {
            try refusedRows.check()
        } catch {
            throw CommandFailure("\(error)")
        }
        let settings = ImportWork.Settings(
            file: file, lookup: lookup, actions: actions, refusedRows: refusedRows, sendsEvents: sendsEvents)
        return try bringIn(request, settings, refused: refused, on: connection, context)
    }

    private func inspect(_ file: ImportFile, _ context: CommandContext) throws -> String {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        return try file.inspect { bar.show($0, "read") }
    }

    // MARK: - Counting

    private func count(
        _ file: ImportFile, _ lookup: ImportLookup, _ actions: CustomerActions, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws -> Int32 {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        var reasons: [String] = []
        let counts: ImportProgress
        do {
            counts = try ImportCount.count(
                file, by: lookup, actions, on: connection,
                rest: { usleep(UInt32(clamping: $0.milliseconds * 1000)) },
                progress: { bar.show($1, ImportCommand.line($0)) },
                rejected: { line, reason in
                    if reasons.count < ImportCommand.shown { reasons.append("line \(line): \(reason)") }
                })
        } catch let error as ServerAPIError {
            throw CommandFailure("\(error)")
        }
        bar.clear()
        if !context.json {
            for reason in reasons { context.terminal.print(Terminal.harmless(reason)) }
        }
        tell(counts, job: nil, refused: nil, context)
        return 0
    }

    // MARK: - Importing

    private func bringIn(
        _ request: ImportRequest, _ settings: ImportWork.Settings, refused: String, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws -> Int32 {
        let origin = ActionTable.Origin.commandLine(context.environment, reason: nil)
        let opened = try JobTable.open(request.request(rate: rate, madeBy: origin.actor), on: connection)
        if !opened.isNew, !context.json {
            context.terminal.print(
                "resuming job \(opened.job.id), started \(context.terminal.time(opened.job.created))")
        }
        try tellOthers(besides: opened.job.id, on: connection, context)
        let job = try attend(opened.job, settings, on: connection, context)
        if job.state == .cancelled {
            do {
                try settings.finishRefusedRows(of: job)
            } catch {
                throw CommandFailure("\(error)")
            }
        }
        if job.state == .failed {
            throw CommandFailure("job \(job.id) stopped: \(job.error ?? ""); the same command line resumes it")
        }
        if job.state == .cancelled { throw CommandFailure("job \(job.id) was cancelled") }
        let counts = ImportProgress(words: job.cursor) ?? ImportProgress()
        tell(counts, job: job.id, refused: counts.unknown + counts.refused > 0 ? refused : nil, context)
        if !context.json, try !JobTable.isWorkerRunning(on: connection) {
            context.terminal.print("no worker is running: the next one that starts applies what was imported")
        }
        return 0
    }

    private func tellOthers(besides own: Int64?, on connection: PostgresConnection, _ context: CommandContext) throws {
        guard !context.json else { return }
        for job in try ImportShare.running(appID, on: connection) where job.id != own {
            context.terminal.print(
                "another import of this app runs: job \(job.id); they share what imports may ask Apple, so both take"
                    + " longer")
        }
    }

    private func attend(
        _ job: Job, _ settings: ImportWork.Settings, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> Job {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        return try JobDriver(job.id, kinds: [ImportWork.kind(settings)]).attend(
            on: connection, rest: { usleep(UInt32(clamping: $0.milliseconds * 1000)) }
        ) { job, isWaiting in
            let line = ImportCommand.line(ImportProgress(words: job.cursor) ?? ImportProgress())
            bar.show(job.fraction, line + (isWaiting ? ", waiting for Apple" : ""))
            return false
        }
    }

    // MARK: - Telling

    private static func line(_ counts: ImportProgress) -> String {
        "\(counts.rows) rows, \(counts.imported) imported"
    }

    private func tell(_ counts: ImportProgress, job: Int64?, refused: String?, _ context: CommandContext) {
        if context.json {
            let more = JSON.object([
                "dry_run": .bool(isDry), "job": .integer(job), "refused_file": .text(refused),
            ])
            context.terminal.document(.object(counts.json + (more.members ?? [])))
            return
        }
        let verb = isDry ? "to be imported" : "imported"
        context.terminal.print(
            "\(counts.rows) rows: \(counts.imported) \(verb), \(counts.already) imported already,"
                + " \(counts.otherStores) of other stores, \(counts.unknown) unknown to Apple, \(counts.refused) refused"
        )
        if let refused { context.terminal.print("rows that need a person: \(Terminal.harmless(refused))") }
    }
}
