import Customers
import Database
import Postgres

extension ReportRefresh {
    /// A whole refresh, as the duty does it in steps.
    func all(on connection: PostgresConnection) throws {
        var cursor = Cursor(started: try connection.serverTime())
        while !cursor.isAtEnd { try step(&cursor, on: connection) }
    }
}
