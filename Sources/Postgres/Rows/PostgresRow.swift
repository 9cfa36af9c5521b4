import CLibpq

/// One row. Every getter fails with kind `decoding` for a column that does not exist or stands there twice, has another type,
/// or (those without `optional`) is NULL; the error names the column and the statement.
package struct PostgresRow: Sendable {
    let rows: PostgresRows
    let index: Int32

    package func isNull(_ column: ColumnName) throws(PostgresError) -> Bool {
        PQgetisnull(rows.result, index, try rows.place(of: column)) == 1
    }

    // MARK: - Values

    /// A value of a type that says itself how a column holds it.
    package func value<Value: ColumnDecodable>(
        _ column: ColumnName, as _: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        try required(column) { cell throws(PostgresError) in try Value(column: cell) }
    }

    package func optionalValue<Value: ColumnDecodable>(
        _ column: ColumnName, as _: Value.Type = Value.self
    ) throws(PostgresError) -> Value? {
        try optional(column) { cell throws(PostgresError) in try Value(column: cell) }
    }

    /// A `smallint`, `integer`, `bigint` or `oid`.
    package func int(_ column: ColumnName) throws(PostgresError) -> Int64 {
        try required(column) { cell throws(PostgresError) in try cell.int() }
    }

    package func optionalInt(_ column: ColumnName) throws(PostgresError) -> Int64? {
        try optional(column) { cell throws(PostgresError) in try cell.int() }
    }

    package func bool(_ column: ColumnName) throws(PostgresError) -> Bool {
        try required(column) { cell throws(PostgresError) in try cell.bool() }
    }

    package func optionalBool(_ column: ColumnName) throws(PostgresError) -> Bool? {
        try optional(column) { cell throws(PostgresError) in try cell.bool() }
    }

    /// A `real` or `double precision`.
    package func double(_ column: ColumnName) throws(PostgresError) -> Double {
        try required(column) { cell throws(PostgresError) in try cell.double() }
    }

    package func optionalDouble(_ column: ColumnName) throws(PostgresError) -> Double? {
        try optional(column) { cell throws(PostgresError) in try cell.double() }
    }

    /// Any text type, `json` or `jsonb`.
    package func text(_ column: ColumnName) throws(PostgresError) -> String {
        try required(column) { cell throws(PostgresError) in try cell.text() }
    }

    package func optionalText(_ column: ColumnName) throws(PostgresError) -> String? {
        try optional(column) { cell throws(PostgresError) in try cell.text() }
    }

    /// A `bytea`, or the UTF-8 of a text type, `json` or `jsonb`.
    package func bytes(_ column: ColumnName) throws(PostgresError) -> [UInt8] {
        try required(column) { cell throws(PostgresError) in try cell.bytes() }
    }

    package func optionalBytes(_ column: ColumnName) throws(PostgresError) -> [UInt8]? {
        try optional(column) { cell throws(PostgresError) in try cell.bytes() }
    }

    /// 16 bytes.
    package func uuid(_ column: ColumnName) throws(PostgresError) -> [UInt8] {
        try required(column) { cell throws(PostgresError) in try cell.uuid() }
    }

    package func optionalUUID(_ column: ColumnName) throws(PostgresError) -> [UInt8]? {
        try optional(column) { cell throws(PostgresError) in try cell.uuid() }
    }

    /// A `timestamptz` as milliseconds since 1970-01-01 UTC, rounded down; infinities are the ends of Int64.
    package func timestamp(_ column: ColumnName) throws(PostgresError) -> Int64 {
        try required(column) { cell throws(PostgresError) in try cell.timestamp() }
    }

    package func optionalTimestamp(_ column: ColumnName) throws(PostgresError) -> Int64? {
        try optional(column) { cell throws(PostgresError) in try cell.timestamp() }
    }

    // MARK: - Arrays

    /// A one-dimensional array of integers.
    package func ints(_ column: ColumnName) throws(PostgresError) -> [Int64?] {
        try elements(column) { cell throws(PostgresError) in try cell.int() }
    }

    package func bools(_ column: ColumnName) throws(PostgresError) -> [Bool?] {
        try elements(column) { cell throws(PostgresError) in try cell.bool() }
    }

    package func texts(_ column: ColumnName) throws(PostgresError) -> [String?] {
        try elements(column) { cell throws(PostgresError) in try cell.text() }
    }

    /// An array of `bytea` or `uuid`.
    package func byteStrings(_ column: ColumnName) throws(PostgresError) -> [[UInt8]?] {
        try elements(column) { cell throws(PostgresError) in
            cell.type == PostgresType.uuid ? try cell.uuid() : try cell.bytes()
        }
    }

    /// An array of `timestamptz`, in milliseconds since 1970-01-01 UTC.
    package func timestamps(_ column: ColumnName) throws(PostgresError) -> [Int64?] {
        try elements(column) { cell throws(PostgresError) in try cell.timestamp() }
    }

    // MARK: - Reaching

    @inline(__always)
    private func optional<Value>(
        _ column: ColumnName, _ read: (PostgresColumnValue) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value? {
        let place = try rows.place(of: column)
        guard PQgetisnull(rows.result, index, place) == 0, let start = PQgetvalue(rows.result, index, place) else {
            return nil
        }
        let content = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(rows.result, index, place)))
        do throws(PostgresError) {
            return try read(
                PostgresColumnValue(
                    type: PQftype(rows.result, place), content: content, result: rows.result, column: place))
        } catch {
            throw rows.fault(error.message)
        }
    }

    @inline(__always)
    private func required<Value>(
        _ column: ColumnName, _ read: (PostgresColumnValue) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        guard let value = try optional(column, read) else { throw rows.fault("column \(column) is NULL") }
        return value
    }

    private func elements<Value>(
        _ column: ColumnName, _ read: (PostgresColumnValue) throws(PostgresError) -> Value
    ) throws(PostgresError) -> [Value?] {
        try required(column) { cell throws(PostgresError) in try cell.elements(read) }
    }
}
