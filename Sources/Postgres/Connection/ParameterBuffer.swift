import CLibpq
import Glibc

/// Parameters in Postgres' binary format, one behind the other in one buffer.
struct ParameterBuffer {
    private var types: [Oid] = []
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []
    /// Never empty, so that its address is never nil: libpq takes nil for NULL.
    private var bytes: [UInt8] = [0]

    /// Fails with kind `encoding` for what Postgres cannot take.
    init(_ values: [PostgresValue]) throws(PostgresError) {
        guard values.count <= 65_535 else {
            throw PostgresError(.encoding, "a statement takes at most 65535 parameters")
        }
        types.reserveCapacity(values.count)
        offsets.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            do throws(PostgresError) {
                try append(value)
            } catch {
                throw PostgresError(.encoding, "parameter $\(index + 1): \(error.message)")
            }
        }
    }

    /// The arrays that `PQexecParams` wants; valid only inside `body`.
    func withPointers<Result>(
        _ body: (
            _ count: Int32, _ types: UnsafePointer<Oid>?, _ values: UnsafePointer<UnsafePointer<CChar>?>?,
            _ lengths: UnsafePointer<Int32>?, _ formats: UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        let formats = [Int32](repeating: 1, count: types.count)
        return bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { offset in offset.flatMap { base?.advanced(by: $0) } }
            return body(Int32(types.count), types, values, lengths, formats)
        }
    }

    // MARK: - One value

    private mutating func append(_ value: PostgresValue) throws(PostgresError) {
        switch value {
        case .null: appendNull(0)
        case .bool(let value): try append(PostgresType.bool, value, ParameterBuffer.putBool)
        case .int2(let value): try append(PostgresType.int2, value, ParameterBuffer.putInteger)
        case .int4(let value): try append(PostgresType.int4, value, ParameterBuffer.putInteger)
        case .int8(let value): try append(PostgresType.int8, value, ParameterBuffer.putInteger)
        case .float8(let value): try append(PostgresType.float8, value?.bitPattern, ParameterBuffer.putInteger)
        case .text(let value): try append(PostgresType.text, value, ParameterBuffer.putText)
        case .bytea(let value): try append(PostgresType.bytea, value, ParameterBuffer.putBytes)
        case .uuid(let value): try append(PostgresType.uuid, value, ParameterBuffer.putUUID)
        case .jsonb(let value): try append(PostgresType.jsonb, value, ParameterBuffer.putJSON)
        case .timestamp(let value): try append(PostgresType.timestamptz, value, ParameterBuffer.putTimestamp)
        case .bools(let values): try append(PostgresType.boolArray, PostgresType.bool, values, ParameterBuffer.putBool)
        case .int2s(let values):
            try append(PostgresType.int2Array, PostgresType.int2, values, ParameterBuffer.putInteger)
        case .int4s(let values):
            try append(PostgresType.int4Array, PostgresType.int4, values, ParameterBuffer.putInteger)
        case .int8s(let values):
            try append(PostgresType.int8Array, PostgresType.int8, values, ParameterBuffer.putInteger)
        case .texts(let values):
            try append(PostgresType.textArray, PostgresType.text, values, ParameterBuffer.putText)
        case .byteas(let values):
            try append(PostgresType.byteaArray, PostgresType.bytea, values, ParameterBuffer.putBytes)
        case .uuids(let values):
            try append(PostgresType.uuidArray, PostgresType.uuid, values, ParameterBuffer.putUUID)
        case .timestamps(let values):
            try append(
                PostgresType.timestamptzArray, PostgresType.timestamptz, values, ParameterBuffer.putTimestamp)
        }
    }

    private typealias Put<Value> = (Value, inout [UInt8]) throws(PostgresError) -> Void

    private mutating func appendNull(_ type: Oid) {
        types.append(type)
        offsets.append(nil)
        lengths.append(0)
    }

    private mutating func append<Value>(_ type: Oid, _ value: Value?, _ put: Put<Value>) throws(PostgresError) {
        guard let value else { return appendNull(type) }
        let start = bytes.count
        try put(value, &bytes)
        try finish(type, from: start)
    }

    /// The array format of `array_send`: dimensions, a flag for NULLs, the element type, then each with its length.
    private mutating func append<Value>(
        _ type: Oid, _ element: Oid, _ values: [Value?], _ put: Put<Value>
    ) throws(PostgresError) {
        let start = bytes.count
        guard let count = Int32(exactly: values.count) else { throw ParameterBuffer.tooLarge }
        ParameterBuffer.putInteger(Int32(values.isEmpty ? 0 : 1), &bytes)
        ParameterBuffer.putInteger(Int32(values.contains { $0 == nil } ? 1 : 0), &bytes)
        ParameterBuffer.putInteger(element, &bytes)
        if count > 0 {
            ParameterBuffer.putInteger(count, &bytes)
            ParameterBuffer.putInteger(Int32(1), &bytes)
        }
        for value in values {
            let place = bytes.count
            ParameterBuffer.putInteger(Int32(-1), &bytes)
            guard let value else { continue }
            try put(value, &bytes)
            guard let length = Int32(exactly: bytes.count - place - 4) else { throw ParameterBuffer.tooLarge }
            withUnsafeBytes(of: length.bigEndian) { length in
                bytes.replaceSubrange(place..<place + 4, with: length)
            }
        }
        try finish(type, from: start)
    }

    private mutating func finish(_ type: Oid, from start: Int) throws(PostgresError) {
        // Postgres takes messages of at most 1 GB.
        guard bytes.count < 1 << 30, let length = Int32(exactly: bytes.count - start) else {
            throw ParameterBuffer.tooLarge
        }
        types.append(type)
        offsets.append(start)
        lengths.append(length)
    }

    private static var tooLarge: PostgresError { PostgresError(.encoding, "too large for a message to Postgres") }

    // MARK: - Bytes of a value

    private static func putInteger(_ value: some FixedWidthInteger, _ bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func putBool(_ value: Bool, _ bytes: inout [UInt8]) {
        bytes.append(value ? 1 : 0)
    }

    private static func putText(_ text: String, _ bytes: inout [UInt8]) throws(PostgresError) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        let containsZero = bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { memchr($0 + start, 0, bytes.count - start) != nil } ?? false
        }
        guard !containsZero else {
            throw PostgresError(.encoding, "the text contains U+0000, which Postgres cannot store")
        }
    }

    private static func putBytes(_ value: [UInt8], _ bytes: inout [UInt8]) {
        bytes.append(contentsOf: value)
    }

    private static func putUUID(_ uuid: [UInt8], _ bytes: inout [UInt8]) throws(PostgresError) {
        guard uuid.count == 16 else { throw PostgresError(.encoding, "a UUID has 16 bytes, not \(uuid.count)") }
        bytes.append(contentsOf: uuid)
    }

    /// A version byte before the text, as `jsonb_recv` reads it.
    private static func putJSON(_ jsonb: [UInt8], _ bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(contentsOf: jsonb)
    }

    /// Microseconds since 2000-01-01.
    private static func putTimestamp(_ timestamp: Int64, _ bytes: inout [UInt8]) throws(PostgresError) {
        let (since2000, under) = timestamp.subtractingReportingOverflow(PostgresType.epochMilliseconds)
        let (microseconds, over) = since2000.multipliedReportingOverflow(by: 1000)
        guard !under, !over else { throw PostgresError(.encoding, "the instant is out of the range of timestamptz") }
        putInteger(microseconds, &bytes)
    }
}
