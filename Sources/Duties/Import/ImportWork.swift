import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Postgres
import Subscriptions

/// A requested import.
package struct ImportRequest: Sendable, Equatable {
    package let app: String
    /// SHA-256 of the file: the same file goes on where it was, whatever its name.
    package let digest: String
    package let path: String
    /// When the file was written, in ms: what it says of attributes was so then.
    package let asOf: Int64
    package let sendsEvents: Bool
    /// The file of rows that need a person.
    package let refusedRows: String

    package init(app: String, digest: String, path: String, asOf: Int64, sendsEvents: Bool, refusedRows: String) {
        self.app = app
        self.digest = digest
        self.path = path
        self.asOf = asOf
        self.sendsEvents = sendsEvents
        self.refusedRows = refusedRows
    }

    /// By which the import is known again.
    private var words: String { "import \(app) \(digest)\(sendsEvents ? " send-events" : "")" }

    /// The newest job of this import; nil: it was not begun before.
    package func former(on connection: PostgresConnection) throws -> Job? {
        try JobTable.newest(words, on: connection)
    }

    /// How a job for it is asked for.
    package func request(rate: Int?, madeBy: String) -> JobTable.Request {
        JobTable.Request(
            kind: ImportWork.name, words: words,
            parameters: .object([
                "app": .string(app), "sha256": .string(digest), "file": .string(path), "as_of_ms": .int(asOf),
                "send_events": .bool(sendsEvents), RefusedRowsFile.parameter: .string(refusedRows),
            ]), rate: rate, madeBy: madeBy)
    }
}

/// Brings in what a file says, a row at a time. Each row commits with the place behind it, so that the same command line goes
/// on there; rows that change nothing commit many at once. Only a process that has the file drives it.
package struct ImportWork: JobRunner {
    package static let name = "import"

    private static let troublePause = Duration.seconds(1)

    /// What an import works with.
    package struct Settings: Sendable {
        let file: ImportFile
        let lookup: ImportLookup
        let actions: CustomerActions
        let refusedRows: RefusedRowsFile
        let sendsEvents: Bool
        let clock: any WallClock
        /// Rows of which it is remembered what came of them, so that the same row again costs nothing.
        let remembered: Int
        /// What Apple's side may be away for.
        let patience: Duration

        package init(
            file: ImportFile, lookup: ImportLookup, actions: CustomerActions, refusedRows: RefusedRowsFile,
            sendsEvents: Bool, clock: any WallClock = SystemClock(), remembered: Int = 1 << 17,
            patience: Duration = .seconds(600)
        ) {
            self.file = file
            self.lookup = lookup
            self.actions = actions
            self.refusedRows = refusedRows
            self.sendsEvents = sendsEvents
            self.clock = clock
            self.remembered = remembered
            self.patience = patience
        }

        /// Takes from the file of refused rows what did not commit before a job was cancelled.
        package func finishRefusedRows(of job: Job) throws(RefusedRowsFile.Failure) {
            try refusedRows.finish(ImportProgress(words: job.cursor)?.refusedMark ?? RefusedRowsFile.Mark())
        }
    }

    private let settings: Settings
    private let terms: CustomerActions.ImportTerms
    private var share: ImportShare
    private var queue: ImportQueue?
    private var progress = ImportProgress()
    /// As the last step left it.
    private var job: Job?
    private var troubleSince: ContinuousClock.Instant?

    package static func kind(_ settings: Settings) -> JobKind {
        JobKind(name) { ImportWork(settings) }
    }

    private init(_ settings: Settings) {
        self.settings = settings
        share = ImportShare(settings.lookup.client)
        terms = CustomerActions.ImportTerms(
            sequence: SequenceGenerator(clock: settings.clock, node: .random(in: 0...UInt16.max)),
            clock: settings.clock, tells: settings.sendsEvents)
    }

    package mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
        guard let known = job else { return try keep(lease, on: connection) }
        guard let progress = ImportProgress(words: known.cursor) else {
            return try fail(lease, "its cursor cannot be read", on: connection)
        }
        self.progress = progress
        do {
            return try go(known, lease, on: connection)
        } catch let error as ServerAPIError {
            return try endure(error, lease, on: connection)
        } catch let error as CustomerActions.Rejection {
            guard error != .busy else { return try keep(lease, pause: .milliseconds(50), on: connection) }
            queue?.refuseFirst("\(error)")
            return try keep(lease, on: connection)
        } catch let error as ImportFile.Failure {
            return try fail(lease, "\(error)", on: connection)
        } catch let error as CSVReader.Failure {
            return try fail(lease, "\(error)", on: connection)
        } catch let error as RefusedRowsFile.Failure {
            return try fail(lease, "\(error)", on: connection)
        }
    }

    private mutating func go(_ known: Job, _ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
        let asOf = known.parameters["as_of_ms"]?.intValue ?? settings.file.modified
        try share.renew(isJob: true, on: connection)
        do {
            if queue == nil {
                queue = try ImportQueue(
                    settings.file, settings.lookup, settings.actions, from: progress.position, asOf: asOf,
                    mostFormers: settings.remembered)
            }
            try queue?.fill(on: connection)
        } catch {
            // A row may have been read and is not among the items: the next step begins behind the last one that committed.
            queue = nil
            throw error
        }
        try queue?.ask()
        troubleSince = nil
        let (items, idle) = (queue?.items ?? [], queue?.idle ?? [])
        if !idle.isEmpty || items.isEmpty { return try commit(idle, lease, on: connection) { _ in nil } }
        guard let first = items.first, case .bringIn(let row, let purchases) = first.task else {
            return try keep(lease, on: connection)
        }
        let (actions, terms) = (settings.actions, terms)
        return try commit(items.prefix(1), lease, on: connection) { connection in
            try actions.bringIn(row.customer, purchases, terms, on: connection)
        }
    }

    /// One step of the job: what the body does, the count and the place of these rows commit together.
    private mutating func commit(
        _ items: ArraySlice<ImportQueue.Item>, _ lease: JobLease, on connection: PostgresConnection,
        _ body: (PostgresConnection) throws -> CustomerActions.BroughtIn?
    ) throws -> JobStep {
        var progress = progress
        let (file, refusedRows) = (settings.file, settings.refusedRows)
        let isAtEnd = (queue?.isAtEnd ?? false) && items.count == queue?.items.count
        job = try lease.step(on: connection) { job, _ in
            let done = try body(connection)
            let isNew = done?.isNew ?? false
            let rejected = queue?.count(items, isNew: isNew, leftOut: done?.leftOut ?? [], into: &progress) ?? []
            // Before the commit: a row that is counted is in the file.
            progress.refusedMark = try refusedRows.write(rejected, behind: progress.refusedMark)
            job.cursor = progress.words
            job.counts = JobCounts(
                matched: progress.rows, queued: progress.imported, skipped: progress.unknown + progress.refused)
            job.fraction = isAtEnd ? 1 : file.share(progress.position.offset)
            // Rejected rows commit in a step before the last one, which takes from their file what did not.
            if isAtEnd, rejected.isEmpty {
                try refusedRows.finish(progress.refusedMark)
                job.state = .done
            }
            if isNew { FailPoint.importBeforeCommit.pass() }
        }.job
        FailPoint.importAfterCommit.pass()
        self.progress = progress
        self.queue?.remove(items)
        return try step()
    }

    /// What passes by itself is waited for, as long as an operator may want to see it pass.
    private mutating func endure(
        _ error: ServerAPIError, _ lease: JobLease, on connection: PostgresConnection
    ) throws -> JobStep {
        guard error.isRetryable else { return try fail(lease, "\(error)", on: connection) }
        let since = troubleSince ?? ContinuousClock.now
        troubleSince = since
        guard ContinuousClock.now - since < settings.patience else {
            return try fail(lease, "\(error)", on: connection)
        }
        return try keep(lease, pause: ImportWork.troublePause, isWaiting: true, on: connection)
    }

    private mutating func fail(
        _ lease: JobLease, _ reason: String, on connection: PostgresConnection
    ) throws -> JobStep {
        job = try lease.step(on: connection) { job, _ in
            job.state = .failed
            job.error = reason
        }.job
        return try step()
    }

    /// Nothing but that the lease goes on.
    private mutating func keep(
        _ lease: JobLease, pause: Duration = .zero, isWaiting: Bool = false, on connection: PostgresConnection
    ) throws -> JobStep {
        job = try lease.step(on: connection) { _, _ in }.job
        return try step(pause: pause, isWaiting: isWaiting)
    }

    private func step(pause: Duration = .zero, isWaiting: Bool = false) throws -> JobStep {
        guard let job else { throw PostgresError(.decoding, "the job was deleted while it ran") }
        return JobStep(job, pause: pause, isWaiting: isWaiting)
    }
}

extension ImportRow {
    var customer: CustomerActions.ImportedCustomer {
        CustomerActions.ImportedCustomer(
            appUserID: appUserID, aliases: aliases, firstSeen: firstSeen, attributes: attributes)
    }
}
