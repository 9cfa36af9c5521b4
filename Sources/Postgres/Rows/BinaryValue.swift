import CLibpq

/// A value in Postgres' binary format, inside a result that must outlive it.
struct BinaryValue {
    let type: UInt32
    let bytes: UnsafeRawBufferPointer
    /// Where it came from, to name it in an error.
    let result: OpaquePointer
    let column: Int32

    func mismatch(_ expected: String) -> PostgresError {
        let name = PQfname(result, column).map { String(cString: $0) } ?? ""
        return PostgresError(
            .decoding, "column \(column) (\(name)) is not \(expected) (type \(type), \(bytes.count) bytes)")
    }

    func integer<Value: FixedWidthInteger & BitwiseCopyable>(_: Value.Type) throws(PostgresError) -> Value {
        guard bytes.count == MemoryLayout<Value>.size else { throw mismatch("\(Value.self)") }
        return Value(bigEndian: bytes.loadUnaligned(as: Value.self))
    }

    /// The UTF-8 of a text or JSON value.
    func characters() throws(PostgresError) -> UnsafeRawBufferPointer {
        if PostgresType.texts.contains(type) { return bytes }
        // `jsonb_send` puts a version before the text.
        guard type == PostgresType.jsonb, bytes.first == 1 else { throw mismatch("a text") }
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    }

    /// Milliseconds since 1970 of microseconds since 2000.
    func milliseconds() throws(PostgresError) -> Int64 {
        let microseconds = try integer(Int64.self)
        guard microseconds != .max, microseconds != .min else { return microseconds }
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1000)
        return quotient + (remainder < 0 ? -1 : 0) + PostgresType.epochMilliseconds
    }

    /// The elements of an array, in `array_send`'s format; more than one dimension is refused.
    func elements<Value>(_ read: (BinaryValue) throws(PostgresError) -> Value) throws(PostgresError) -> [Value?] {
        var rest = bytes[...]
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
            values.append(try read(BinaryValue(type: element, bytes: value, result: result, column: column)))
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
