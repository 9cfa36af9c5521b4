import Base
import Postgres
import Subscriptions

/// As the database keeps it, a `smallint`.
extension StoreEnvironment: ColumnDecodable {
    package init(column: PostgresColumnValue) throws(PostgresError) {
        let code = try column.int()
        guard let number = Int16(exactly: code), let environment = StoreEnvironment(code: number) else {
            throw column.unknown(code, of: StoreEnvironment.self)
        }
        self = environment
    }
}

extension RestoreBehavior: ColumnDecodable {}

extension AppScope: RowDecodable {
    package static let columns = "app, environment"

    package init(_ row: PostgresRow) throws(PostgresError) {
        self.init(app: try row.text("app"), environment: try row.value("environment"))
    }
}

extension PurchaseKey: RowDecodable {
    package static let columns = "app, environment, original_transaction_id"

    package init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            app: try row.text("app"), environment: try row.value("environment"),
            originalTransactionID: try row.text("original_transaction_id"))
    }
}
