import Base
import Postgres

/// What a migration leaves to be done after its transaction, because it takes long and the processes work meanwhile.
///
/// A program that needs the result says so by a later migration, which is not run before the step is finished.
package enum OnlineStep: Sendable {
    /// An index, built CONCURRENTLY. The definition is what follows its name: `ON entitled.event (lane)`. Not for a
    /// partitioned table, where Postgres builds none concurrently.
    case index(name: String, definition: String)
    /// Rows of a table, written in batches by key, each in a transaction of its own.
    ///
    /// The statement writes at most $2 (bigint) rows after the cursor $1 (text; NULL: from the beginning) and returns one
    /// row: `cursor`, the next one as text, NULL at the end, and `rows`, how many it wrote, as bigint. It may be run twice for the
    /// same rows only where it changed nothing the first time: cursor and rows are committed together. The program that
    /// comes with the migration writes new rows as the backfill would.
    case backfill(name: String, table: String, batch: String)
    /// Statistics of a table, gathered at once by ANALYZE: those that the migration declares are of use to the planner only then,
    /// and autovacuum comes to a large table after days.
    case analysis(name: String, table: String)

    /// Tells it from the other steps of its migration.
    package var name: String {
        switch self {
        case .index(let name, _), .backfill(let name, _, _), .analysis(let name, _): name
        }
    }

    /// How far a step is.
    package struct Progress: Sendable, Equatable {
        package let version: Int
        package let name: String
        package let rows: Int64
        package let isFinished: Bool
    }

    private static let exists = "SELECT to_regclass('entitled.migration_step') IS NOT NULL AS is_there"
    private static let select = """
        SELECT version::int8, name, rows, finished_at IS NOT NULL AS is_finished FROM entitled.migration_step
        ORDER BY version, started_at, name
        """

    /// The steps of a database's migrations, in their order.
    package static func read(on connection: PostgresConnection) throws -> [Progress] {
        guard try connection.query(exists).one().bool("is_there") else { return [] }
        return try connection.query(select).map {
            Progress(
                version: Int(try $0.int("version")), name: try $0.text("name"), rows: try $0.int("rows"),
                isFinished: try $0.bool("is_finished"))
        }
    }
}
