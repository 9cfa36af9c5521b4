import Base

/// Values one after the other: integers in groups of seven bits, small ones of either sign in few; texts behind their
/// length.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ value: Int64) {
        // Zigzag: the sign is the lowest bit.
        var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    package mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

    package mutating func write(_ value: Int64?) {
        write(value != nil)
        if let value { write(value) }
    }

    package mutating func write(_ value: [UInt8]) {
        write(Int64(value.count))
        bytes += value
    }

    package mutating func write(_ value: String) { write(Array(value.utf8)) }

    /// An id: lower-case UUIDs and decimal numbers, which most ids are, take half the bytes.
    package mutating func write(id: String) {
        if let uuid = UUIDForm.bytes(id) {
            write(ByteReader.uuidMark)
            bytes += uuid
        } else if let number = Int64(id), String(number) == id {
            write(ByteReader.numberMark)
            write(number)
        } else {
            write(id)
        }
    }
}

/// A lower-case UUID as its 16 bytes.
private enum UUIDForm {
    private static let lengths = [8, 4, 4, 4, 12]

    static func bytes(_ text: String) -> [UInt8]? {
        guard let bytes = Hex.decode(text.filter { $0 != "-" }), bytes.count == 16, self.text(bytes) == text else {
            return nil
        }
        return bytes
    }

    static func text(_ bytes: [UInt8]) -> String {
        var digits = Hex.encode(bytes)[...]
        return lengths.map { length in
            defer { digits = digits.dropFirst(length) }
            return String(digits.prefix(length))
        }.joined(separator: "-")
    }
}

/// Reads what `ByteWriter` wrote; nil for anything else, never beyond the end.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    /// In place of a length.
    fileprivate static let uuidMark: Int64 = -1
    fileprivate static let numberMark: Int64 = -2

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    package var isAtEnd: Bool { rest.isEmpty }
    /// Bytes that are left.
    var count: Int { rest.count }

    package mutating func integer() -> Int64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 0x7f) << shift
            guard byte & 0x80 != 0 else { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
        }
        return nil
    }

    package mutating func bool() -> Bool? {
        switch rest.popFirst() {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// The outer nil: nothing can be read.
    package mutating func optionalInteger() -> Int64?? {
        guard let isThere = bool() else { return nil }
        return isThere ? integer().map { .some($0) } : .some(nil)
    }

    package mutating func bytes() -> [UInt8]? {
        integer().flatMap { take($0) }
    }

    package mutating func text() -> String? { bytes().flatMap { String(validating: $0, as: UTF8.self) } }

    package mutating func id() -> String? {
        switch integer() {
        case ByteReader.uuidMark: take(16).map(UUIDForm.text)
        case ByteReader.numberMark: integer().map(String.init)
        case let count?: take(count).flatMap { String(validating: $0, as: UTF8.self) }
        case nil: nil
        }
    }

    private mutating func take(_ count: Int64) -> [UInt8]? {
        guard count >= 0, count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }

    /// So many values as stand before them.
    package mutating func list<Value>(_ read: (inout ByteReader) -> Value?) -> [Value]? {
        guard let count = integer(), count >= 0, count <= rest.count else { return nil }
        var values: [Value] = []
        for _ in 0..<count {
            guard let value = read(&self) else { return nil }
            values.append(value)
        }
        return values
    }
}
