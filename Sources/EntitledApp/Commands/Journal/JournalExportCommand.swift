import Base
import CLI
import Customers
import Daemon
import Database
import Postgres
import Schemas

/// `entitled journal export`.
struct JournalExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "export", "Write what Apple's history cannot restore to a file outside the database.",
        discussion:
            "The file has customers' ids and attributes, actions such as grants, aliases and transfers, deletions,"
            + " endpoints with their sealed secrets, operators, and the hashes of API keys and operators' keys, one"
            + " JSON document per line. Run again with the same file, the command adds what is new and never removes"
            + " what a restored database has lost. When a customer was deleted, the earlier lines about the customer"
            + " are"
            + " removed. The file contains personal data and is readable by its owner only (mode 0600).",
        examples: [
            "journal export --to /backup/entitled.journal", "journal export --to /backup/entitled.journal --follow",
            "journal export --to today.journal --since 24h",
        ])

    @Option("--to", .file, "File to add to; created if it is missing.") private var file: String
    @Option("--since", .moment, "Leave out what happened before this time.") private var since: TimeArgument?
    @Flag("--follow", "Run until Ctrl-C or SIGTERM, and add what is new.") private var follows: Bool

    /// Between two looks, at least.
    private static let rest = Duration.seconds(1)
    /// A look takes this part of the time at most.
    private static let share = 20

    func run(_ context: CommandContext) throws -> Int32 {
        let database = try DatabaseAccess(try context.configuration())
        let since = try self.since?.milliseconds(ofOption: "--since", now: SystemClock().now())
        let connection = try database.connect(.worker)
        try JournalExportCommand.checkSchema(connection)
        // Before any thread: every thread must leave the signals to the one that waits for them.
        if follows { Signals.block() }
        let export = try JournalExport(to: file, since: since, on: connection)
        let result = try export.run(on: connection)
        show(result, context)
        if follows { try follow(export, try database.session(.worker, logger: .silent, refused: { _ in }), context) }
        return 0
    }

    /// - Throws: where the schema is of before journals.
    static func checkSchema(_ connection: PostgresConnection) throws {
        guard try JournalQuery.isReady(on: connection) else {
            throw CommandFailure("the database's schema is older than journals: run `entitled migrate`")
        }
    }

    private func follow(_ export: JournalExport, _ session: PostgresSession, _ context: CommandContext) throws {
        let end = Monitor(false)
        _ = ServiceThread("signals") {
            _ = Signals.wait()
            end.change { $0 = true }
        }
        var (rest, isAway) = (JournalExportCommand.rest, false)
        while end.wait(timeout: rest, for: { $0 ? true : nil }) == nil {
            do {
                let began = ContinuousClock.now
                let result = try session.withConnection { connection in try export.run(on: connection) }
                isAway = false
                rest = max(JournalExportCommand.rest, (ContinuousClock.now - began) * JournalExportCommand.share)
                if result != JournalExport.Result() { show(result, context) }
            } catch let error as PostgresError where error.kind == .connection {
                if !isAway { context.terminal.complain("the database is unavailable; waiting for it") }
                isAway = true
                rest = max(session.retryDelay, JournalExportCommand.rest)
            }
        }
    }

    private func show(_ result: JournalExport.Result, _ context: CommandContext) {
        if context.json {
            let document = JSON.object([
                "entries": .int(Int64(result.entries)), "erased": .int(Int64(result.erased)), "file": .string(file),
            ])
            if follows { context.terminal.line(document) } else { context.terminal.document(document) }
            return
        }
        let erased = result.erased == 0 ? "" : "; \(result.erased) lines about deleted customers were taken out"
        context.terminal.print("\(result.entries) entries added to \(Terminal.harmless(file))\(erased)")
    }
}
