/// A type that one column holds, and whose reading is said once.
package protocol ColumnDecodable {
    init(column: PostgresColumnValue) throws(PostgresError)
}

/// A type that one row holds in columns that several statements return.
package protocol RowDecodable {
    /// The select list that `init` reads.
    static var columns: String { get }

    init(_ row: PostgresRow) throws
}

/// A code as a `smallint`: an unknown one is an error.
extension ColumnDecodable where Self: RawRepresentable, RawValue == Int16 {
    package init(column: PostgresColumnValue) throws(PostgresError) {
        let code = try column.int()
        guard let number = Int16(exactly: code), let value = Self(rawValue: number) else {
            throw column.unknown(code, of: Self.self)
        }
        self = value
    }
}

/// A code as a text: an unknown one is an error.
extension ColumnDecodable where Self: RawRepresentable, RawValue == String {
    package init(column: PostgresColumnValue) throws(PostgresError) {
        let code = try column.text()
        guard let value = Self(rawValue: code) else { throw column.unknown(code, of: Self.self) }
        self = value
    }
}
