import Base
import Database
import Postgres

/// Writes what no history of Apple's gives back to a file outside of the database, and adds to it what comes.
package struct JournalExport {
    private let file: JournalFile
    private let since: Int64?

    /// - Parameter since: ms; nil: from the beginning.
    /// - Throws: `JournalFailure`.
    package init(to path: String, since: Int64?, on connection: PostgresConnection) throws {
        file = try JournalFile(path, names: try DeletedNames(on: connection).emptied)
        self.since = since
    }

    /// What one run did.
    package struct Result: Sendable, Equatable {
        /// Entries that were added.
        package var entries = 0
        /// Lines that a deletion reached, and that are gone.
        package var erased = 0

        package init() {}
    }

    /// Adds what is missing, as of one moment.
    package func run(on connection: PostgresConnection) throws -> Result {
        var result = Result()
        // What a deletion rewrote in the database, and the lines that went with it, has no mark to be found by.
        if try pass(&result, on: connection) { _ = try pass(&result, on: connection) }
        return result
    }

    private static let opening = [
        PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
        PostgresStatement(
            """
            SELECT set_config('bytea_output', 'hex', true), set_config('statement_timeout', '0', true),
                set_config('idle_in_transaction_session_timeout', '0', true)
            """),
    ]

    /// Returns whether lines that deletions reach were looked for, so that everything has to be read again.
    private func pass(_ result: inout Result, on connection: PostgresConnection) throws -> Bool {
        let position = try DatabasePosition.read(on: connection)
        return try connection.transaction(opening: JournalExport.opening) { _ in
            let (mark, now) = try JournalQuery.mark(at: position, on: connection)
            let known = try DeletedNames(on: connection)
            // A restored database has lost what the file knows of deletions: customers who are there again are not written,
            // and are missing until the journal is applied.
            let lost = file.deleted.subtracting(known)
            if !lost.isEmpty { file.forgetMark() }
            let extent = JournalQuery.Extent(since: since, mark: try valid(mark, on: connection), now: now)
            var isSwept = false
            for kind in JournalEntry.Kind.allCases {
                try JournalQuery.read(kind, extent, on: connection) { entry in
                    guard !lost.name(entry), !known.cover(entry) else { return }
                    if try file.add(entry) { result.entries += 1 }
                }
                guard kind == .deletion, file.isSweepDue else { continue }
                isSwept = true
                result.erased += try file.sweep(known)
            }
            try file.end(isSwept || !lost.isEmpty ? nil : mark, since: since)
            return isSwept
        }
    }

    /// The mark of the last export, where it still says what changed since.
    private func valid(
        _ now: JournalQuery.Mark?, on connection: PostgresConnection
    ) throws -> JournalQuery.Mark? {
        guard let now, let last = file.mark, last.mark.cluster == now.cluster,
            last.mark.transaction <= now.transaction, last.mark.action <= now.action,
            now.transaction - last.mark.transaction < JournalQuery.markLife,
            (last.since ?? .min) <= (since ?? .min), try JournalQuery.hasAction(of: last.mark, on: connection)
        else { return nil }
        return last.mark
    }
}
