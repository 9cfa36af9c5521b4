import CLibpq

/// One row. Every getter fails with kind `decoding` for a column that does not exist, has another type, or (those
/// without `optional`) is NULL.
package struct PostgresRow: Sendable {
    let rows: PostgresRows
    let index: Int32

    package func isNull(_ column: some PostgresColumn) throws(PostgresError) -> Bool {
        PQgetisnull(rows.result, index, try place(column)) == 1
    }

    // MARK: - Values

    /// A `smallint`, `integer`, `bigint` or `oid`.
    package func int(_ column: some PostgresColumn) throws(PostgresError) -> Int64 {
        try required(column, try optionalInt(column))
    }

    package func optionalInt(_ column: some PostgresColumn) throws(PostgresError) -> Int64? {
        try cell(column).map { cell throws(PostgresError) in
            switch cell.type {
            case PostgresType.int2: Int64(try cell.integer(Int16.self))
            case PostgresType.int4: Int64(try cell.integer(Int32.self))
            case PostgresType.int8: try cell.integer(Int64.self)
            case PostgresType.oid: Int64(try cell.integer(UInt32.self))
            default: throw cell.mismatch("an integer")
            }
        }
    }

    package func bool(_ column: some PostgresColumn) throws(PostgresError) -> Bool {
        try required(column, try optionalBool(column))
    }

    package func optionalBool(_ column: some PostgresColumn) throws(PostgresError) -> Bool? {
        try cell(column).map { cell throws(PostgresError) in
            guard cell.type == PostgresType.bool else { throw cell.mismatch("a boolean") }
            return try cell.integer(UInt8.self) != 0
        }
    }

    /// A `real` or `double precision`.
    package func double(_ column: some PostgresColumn) throws(PostgresError) -> Double {
        try required(column, try optionalDouble(column))
    }

    package func optionalDouble(_ column: some PostgresColumn) throws(PostgresError) -> Double? {
        try cell(column).map { cell throws(PostgresError) in
            switch cell.type {
            case PostgresType.float4: Double(Float(bitPattern: try cell.integer(UInt32.self)))
            case PostgresType.float8: Double(bitPattern: try cell.integer(UInt64.self))
            default: throw cell.mismatch("a floating-point number")
            }
        }
    }

    /// Any text type, `json` or `jsonb`.
    package func text(_ column: some PostgresColumn) throws(PostgresError) -> String {
        try required(column, try optionalText(column))
    }

    package func optionalText(_ column: some PostgresColumn) throws(PostgresError) -> String? {
        try cell(column).map { cell throws(PostgresError) in
            String(decoding: try cell.characters(), as: UTF8.self)
        }
    }

    /// A `bytea`, or the UTF-8 of a text type, `json` or `jsonb`.
    package func bytes(_ column: some PostgresColumn) throws(PostgresError) -> [UInt8] {
        try required(column, try optionalBytes(column))
    }

    package func optionalBytes(_ column: some PostgresColumn) throws(PostgresError) -> [UInt8]? {
        try cell(column).map { cell throws(PostgresError) in
            cell.type == PostgresType.bytea ? [UInt8](cell.bytes) : [UInt8](try cell.characters())
        }
    }

    /// 16 bytes.
    package func uuid(_ column: some PostgresColumn) throws(PostgresError) -> [UInt8] {
        try required(column, try optionalUUID(column))
    }

    package func optionalUUID(_ column: some PostgresColumn) throws(PostgresError) -> [UInt8]? {
        try cell(column).map { cell throws(PostgresError) in
            guard cell.type == PostgresType.uuid, cell.bytes.count == 16 else { throw cell.mismatch("a UUID") }
            return [UInt8](cell.bytes)
        }
    }

    /// A `timestamptz` as milliseconds since 1970-01-01 UTC, rounded down; infinities are the ends of Int64.
    package func timestamp(_ column: some PostgresColumn) throws(PostgresError) -> Int64 {
        try required(column, try optionalTimestamp(column))
    }

    package func optionalTimestamp(_ column: some PostgresColumn) throws(PostgresError) -> Int64? {
        try cell(column).map { cell throws(PostgresError) in
            guard cell.type == PostgresType.timestamptz || cell.type == PostgresType.timestamp else {
                throw cell.mismatch("a timestamp")
            }
            return try cell.milliseconds()
        }
    }

    // MARK: - Arrays

    /// A one-dimensional array of integers.
    package func ints(_ column: some PostgresColumn) throws(PostgresError) -> [Int64?] {
        try elements(column) { cell throws(PostgresError) in
            switch cell.type {
            case PostgresType.int2: Int64(try cell.integer(Int16.self))
            case PostgresType.int4: Int64(try cell.integer(Int32.self))
            case PostgresType.int8: try cell.integer(Int64.self)
            default: throw cell.mismatch("an integer")
            }
        }
    }

    package func bools(_ column: some PostgresColumn) throws(PostgresError) -> [Bool?] {
        try elements(column) { cell throws(PostgresError) in
            guard cell.type == PostgresType.bool else { throw cell.mismatch("a boolean") }
            return try cell.integer(UInt8.self) != 0
        }
    }

    package func texts(_ column: some PostgresColumn) throws(PostgresError) -> [String?] {
        try elements(column) { cell throws(PostgresError) in
            String(decoding: try cell.characters(), as: UTF8.self)
        }
    }

    /// An array of `bytea` or `uuid`.
    package func byteStrings(_ column: some PostgresColumn) throws(PostgresError) -> [[UInt8]?] {
        try elements(column) { cell throws(PostgresError) in
            guard cell.type == PostgresType.bytea || cell.type == PostgresType.uuid else {
                throw cell.mismatch("bytes")
            }
            return [UInt8](cell.bytes)
        }
    }

    /// An array of `timestamptz`, in milliseconds since 1970-01-01 UTC.
    package func timestamps(_ column: some PostgresColumn) throws(PostgresError) -> [Int64?] {
        try elements(column) { cell throws(PostgresError) in
            guard cell.type == PostgresType.timestamptz else { throw cell.mismatch("a timestamp") }
            return try cell.milliseconds()
        }
    }

    // MARK: - Reaching

    private func place(_ column: some PostgresColumn) throws(PostgresError) -> Int32 {
        guard let place = column.index(in: rows) else {
            throw PostgresError(.decoding, "the answer has no column \(column)")
        }
        return place
    }

    private func cell(_ column: some PostgresColumn) throws(PostgresError) -> BinaryValue? {
        let place = try place(column)
        guard PQgetisnull(rows.result, index, place) == 0, let start = PQgetvalue(rows.result, index, place) else {
            return nil
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(rows.result, index, place)))
        return BinaryValue(type: PQftype(rows.result, place), bytes: bytes, result: rows.result, column: place)
    }

    private func required<Value>(_ column: some PostgresColumn, _ value: Value?) throws(PostgresError) -> Value {
        guard let value else { throw PostgresError(.decoding, "column \(column) is NULL") }
        return value
    }

    private func elements<Value>(
        _ column: some PostgresColumn, _ read: (BinaryValue) throws(PostgresError) -> Value
    ) throws(PostgresError) -> [Value?] {
        guard let cell = try cell(column) else { throw PostgresError(.decoding, "column \(column) is NULL") }
        return try cell.elements(read)
    }
}
