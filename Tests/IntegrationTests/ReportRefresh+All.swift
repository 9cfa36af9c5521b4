import Customers
import Database
import Postgres

extension ReportRefresh {
    /// A whole refresh, as the duty does it in steps.
    @discardableResult
    func all(on connection: PostgresConnection) throws -> [Failure] {
        var cursor = Cursor(started: try connection.serverTime())
        var failures: [Failure] = []
        while !cursor.isAtEnd { failures += try step(&cursor, on: connection) }
        return failures
    }
}
