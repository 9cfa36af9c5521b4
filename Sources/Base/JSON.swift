import FoundationEssentials

/// A JSON value (RFC 8259). Objects keep the order of their members when they are built here and written;
/// when parsed, their order is not kept, because Foundation's decoder does not tell it.
package enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([Member])
    /// Bytes that are a JSON value already, written as they are.
    case raw([UInt8])

    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: JSON

        package init(name: String, value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// Members whose value is nil are left out.
    package static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
        .object(members.compactMap { name, value in value.map { Member(name: name, value: $0) } })
    }

    package static func strings(_ strings: some Sequence<String>) -> JSON {
        .array(strings.map { .string($0) })
    }

    /// The value, or `null`.
    package static func text(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }
    package static func integer(_ value: Int64?) -> JSON { value.map { .int($0) } ?? .null }

    /// Milliseconds since 1970 as ISO 8601 to the second, or `null`.
    package static func date(_ milliseconds: Int64?) -> JSON {
        milliseconds.map { .string(Timestamp.text($0)) } ?? .null
    }

    // MARK: - Reading members

    package subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var intValue: Int64? {
        if case .int(let value) = self { value } else { nil }
    }

    package var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var arrayValue: [JSON]? {
        if case .array(let values) = self { values } else { nil }
    }

    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }
}

// MARK: - Parsing

extension JSON: Decodable {
    /// Parses UTF-8 text. Depth is bounded by Foundation's decoder.
    ///
    /// Other bytes are refused before it sees them: its reader of JSON5 traps on a name that is no UTF-8.
    package init(parsing bytes: [UInt8], json5: Bool = false) throws {
        guard (try? UTF8Span(validating: bytes.span)) != nil else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the text is not UTF-8"))
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = json5
        // It also reads on behind a number at the end of the text, whatever is in memory there: white space stops it.
        self = try decoder.decode(JSON.self, from: Data(bytes + [0x0a]))
    }

    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            self = .object(
                try container.allKeys.sorted { $0.stringValue < $1.stringValue }.map {
                    Member(name: $0.stringValue, value: try container.decode(JSON.self, forKey: $0))
                })
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var values: [JSON] = []
            while !container.isAtEnd {
                values.append(try container.decode(JSON.self))
            }
            self = .array(values)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }
}

// MARK: - Writing

extension JSON {
    /// Compact UTF-8 text, members in their order.
    package var bytes: [UInt8] {
        var output: [UInt8] = []
        write(to: &output)
        return output
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package func write(to output: inout [UInt8]) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let value): output += (value ? "true" : "false").utf8
        case .int(let value): output += String(value).utf8
        case .double(let value): JSON.write(value, to: &output)
        case .string(let value): JSON.write(value, to: &output)
        case .raw(let bytes): output += bytes
        case .array(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                value.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                JSON.write(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Whole numbers without a fraction; what JSON cannot say (NaN, infinity) is `null`.
    private static func write(_ value: Double, to output: inout [UInt8]) {
        if !value.isFinite {
            output += "null".utf8
        } else if value == value.rounded(), abs(value) < 1e15 {
            output += String(Int64(value)).utf8
        } else {
            output += String(value).utf8
        }
    }

    package static func write(_ string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { bytes in
            // What needs no escape is copied as a whole.
            var start = 0
            for place in bytes.indices where isEscaped(bytes[place]) {
                output += UnsafeBufferPointer(rebasing: bytes[start..<place])
                escape(bytes[place], to: &output)
                start = place + 1
            }
            output += UnsafeBufferPointer(rebasing: bytes[start...])
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func escape(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): output += "\\\"".utf8
        case UInt8(ascii: "\\"): output += "\\\\".utf8
        case 0x0a: output += "\\n".utf8
        case 0x0d: output += "\\r".utf8
        case 0x09: output += "\\t".utf8
        default: output += "\\u00\(Hex.encode([byte]))".utf8
        }
    }
}
