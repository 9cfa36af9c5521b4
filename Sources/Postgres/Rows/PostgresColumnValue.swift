import CLibpq

/// One column's value, which is not NULL, in Postgres' binary format; the result that it is inside of must outlive it.
///
/// Every reader fails with kind `decoding` for a value of another type.
package struct PostgresColumnValue {
    let type: UInt32
    let content: UnsafeRawBufferPointer
    /// Where it came from, to name it in an error.
    let result: OpaquePointer
    let column: Int32

    // MARK: - Values

    /// A `smallint`, `integer`, `bigint` or `oid`.
    package func int() throws(PostgresError) -> Int64 {
        switch type {
        case PostgresType.int2: Int64(try integer(Int16.self))
        case PostgresType.int4: Int64(try integer(Int32.self))
        case PostgresType.int8: try integer(Int64.self)
        case PostgresType.oid: Int64(try integer(UInt32.self))
        default: throw mismatch("an integer")
        }
    }

    package func bool() throws(PostgresError) -> Bool {
        guard type == PostgresType.bool else { throw mismatch("a boolean") }
        return try integer(UInt8.self) != 0
    }

    /// A `real` or `double precision`.
    package func double() throws(PostgresError) -> Double {
        switch type {
        case PostgresType.float4: Double(Float(bitPattern: try integer(UInt32.self)))
        case PostgresType.float8: Double(bitPattern: try integer(UInt64.self))
        default: throw mismatch("a floating-point number")
        }
    }

    /// Any text type, `json` or `jsonb`.
    package func text() throws(PostgresError) -> String {
        String(decoding: try characters(), as: UTF8.self)
    }

    /// A `bytea`, or the UTF-8 of a text type, `json` or `jsonb`.
    package func bytes() throws(PostgresError) -> [UInt8] {
        type == PostgresType.bytea ? [UInt8](content) : [UInt8](try characters())
    }

    /// 16 bytes.
    package func uuid() throws(PostgresError) -> [UInt8] {
        guard type == PostgresType.uuid, content.count == 16 else { throw mismatch("a UUID") }
        return [UInt8](content)
    }

    /// A `timestamptz` as milliseconds since 1970-01-01 UTC, rounded down; infinities are the ends of Int64.
    package func timestamp() throws(PostgresError) -> Int64 {
        guard type == PostgresType.timestamptz || type == PostgresType.timestamp else {
            throw mismatch("a timestamp")
        }
        return try milliseconds()
    }

    // MARK: - Faults

    /// The error for a code that its type does not have.
    package func unknown<Code>(_ code: some CustomStringConvertible, of _: Code.Type) -> PostgresError {
        PostgresError(
            .decoding,
            "column \(name) has the code \(code), which is no known \(Code.self); a newer version may have written it")
    }

    func mismatch(_ expected: String) -> PostgresError {
        PostgresError(
            .decoding, "column \(name) is not \(expected) (type \(type), \(content.count) bytes)")
    }

    private var name: String {
        PQfname(result, column).map { String(cString: $0) } ?? String(column)
    }

    // MARK: - Formats

    private func integer<Value: FixedWidthInteger & BitwiseCopyable>(_: Value.Type) throws(PostgresError) -> Value {
        guard content.count == MemoryLayout<Value>.size else { throw mismatch("\(Value.self)") }
        return Value(bigEndian: content.loadUnaligned(as: Value.self))
    }

    /// The UTF-8 of a text or JSON value.
    private func characters() throws(PostgresError) -> UnsafeRawBufferPointer {
        if PostgresType.texts.contains(type) { return content }
        // `jsonb_send` puts a version before the text.
        guard type == PostgresType.jsonb, content.first == 1 else { throw mismatch("a text") }
        return UnsafeRawBufferPointer(rebasing: content.dropFirst())
    }

    /// Milliseconds since 1970 of microseconds since 2000.
    private func milliseconds() throws(PostgresError) -> Int64 {
        let microseconds = try integer(Int64.self)
        guard microseconds != .max, microseconds != .min else { return microseconds }
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1000)
        return quotient + (remainder < 0 ? -1 : 0) + PostgresType.epochMilliseconds
    }

    /// The elements of an array, in `array_send`'s format; more than one dimension is refused.
    func elements<Value>(_ read: (PostgresColumnValue) throws(PostgresError) -> Value) throws(PostgresError) -> [Value?]
    {
        var rest = content[...]
        let dimensions = try take(Int32.self, &rest)
        _ = try take(Int32.self, &rest)
        let element = try take(UInt32.self, &rest)
        guard dimensions > 0 else { return [] }
        let count = try take(Int32.self, &rest)
        _ = try take(Int32.self, &rest)
        // Each element has at least its length's four bytes.
        guard dimensions == 1, count >= 0, Int(count) <= rest.count / 4 else { throw mismatch("a flat array") }
        var values: [Value?] = []
        values.reserveCapacity(Int(count))
        for _ in 0..<count {
            let length = Int(try take(Int32.self, &rest))
            guard length >= 0 else {
                values.append(nil)
                continue
            }
            guard length <= rest.count else { throw mismatch("a whole array") }
            let value = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
            values.append(try read(PostgresColumnValue(type: element, content: value, result: result, column: column)))
            rest = rest.dropFirst(length)
        }
        return values
    }

    private func take<Value: FixedWidthInteger & BitwiseCopyable>(
        _: Value.Type, _ rest: inout Slice<UnsafeRawBufferPointer>
    ) throws(PostgresError) -> Value {
        let size = MemoryLayout<Value>.size
        guard rest.count >= size else { throw mismatch("an array") }
        let value = UnsafeRawBufferPointer(rebasing: rest.prefix(size)).loadUnaligned(as: Value.self)
        rest = rest.dropFirst(size)
        return Value(bigEndian: value)
    }
}
