extension JSON {
    /// The text is no JSON, or is nested too deeply.
    package struct Malformed: Error {}

    /// Parses UTF-8 text and keeps what the other reader does not: the order of members, and numbers as they are written.
    ///
    /// - Parameters:
    ///   - deepest: how many arrays and objects may lie in each other.
    ///   - verbatim: members of the outermost object whose values stay bytes (`raw`).
    package init(ordered bytes: [UInt8], deepest: Int = 64, verbatim: Set<String> = []) throws(Malformed) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Malformed() }
        var reader = OrderedReader(bytes: bytes, deepest: deepest, verbatim: verbatim)
        self = try reader.document()
    }
}

private struct OrderedReader {
    let bytes: [UInt8]
    let deepest: Int
    let verbatim: Set<String>
    private var place = 0

    init(bytes: [UInt8], deepest: Int, verbatim: Set<String>) {
        self.bytes = bytes
        self.deepest = deepest
        self.verbatim = verbatim
    }

    mutating func document() throws(JSON.Malformed) -> JSON {
        let value = try value(depth: 0)
        skipSpace()
        guard place == bytes.count else { throw JSON.Malformed() }
        return value
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { place += 1 }
    }

    /// Whether the next byte is this one, which is then read.
    private mutating func takes(_ character: Character) -> Bool {
        guard let byte = next, character.asciiValue == byte else { return false }
        place += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSON.Malformed) -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: JSON) throws(JSON.Malformed) -> JSON {
        guard bytes[place...].starts(with: word.utf8) else { throw JSON.Malformed() }
        place += word.utf8.count
        return value
    }

    private mutating func object(depth: Int) throws(JSON.Malformed) -> JSON {
        guard depth <= deepest else { throw JSON.Malformed() }
        place += 1
        var members: [JSON.Member] = []
        skipSpace()
        if takes("}") { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw JSON.Malformed() }
            let name = try string()
            skipSpace()
            guard takes(":") else { throw JSON.Malformed() }
            skipSpace()
            let start = place
            let value = try value(depth: depth)
            let isVerbatim = depth == 1 && verbatim.contains(name) && value != .null
            members.append(JSON.Member(name: name, value: isVerbatim ? .raw(Array(bytes[start..<place])) : value))
            skipSpace()
        } while takes(",")
        guard takes("}") else { throw JSON.Malformed() }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(JSON.Malformed) -> JSON {
        guard depth <= deepest else { throw JSON.Malformed() }
        place += 1
        var values: [JSON] = []
        skipSpace()
        if takes("]") { return .array(values) }
        repeat {
            values.append(try value(depth: depth))
            skipSpace()
        } while takes(",")
        guard takes("]") else { throw JSON.Malformed() }
        return .array(values)
    }

    private mutating func string() throws(JSON.Malformed) -> String {
        place += 1
        var text: [UInt8] = []
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text += try escaped()
            case 0..<0x20: throw JSON.Malformed()
            default: text.append(byte)
            }
        }
        throw JSON.Malformed()
    }

    private mutating func escaped() throws(JSON.Malformed) -> [UInt8] {
        guard let byte = next else { throw JSON.Malformed() }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0c]
        case UInt8(ascii: "n"): return [0x0a]
        case UInt8(ascii: "r"): return [0x0d]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return try scalar()
        default: throw JSON.Malformed()
        }
    }

    /// A half of a pair without the other one is U+FFFD.
    private mutating func scalar() throws(JSON.Malformed) -> [UInt8] {
        let first = try unit()
        if first & 0xfc00 == 0xd800, bytes[place...].starts(with: "\\u".utf8) {
            let start = place
            place += 2
            let second = try unit()
            if second & 0xfc00 == 0xdc00 {
                let value = 0x10000 + (UInt32(first & 0x3ff) << 10 | UInt32(second & 0x3ff))
                return Array(String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8)
            }
            place = start
        }
        return Array(String(Unicode.Scalar(first) ?? "\u{FFFD}").utf8)
    }

    private mutating func unit() throws(JSON.Malformed) -> UInt16 {
        let digits = bytes[place...].prefix(4)
        guard digits.count == 4, let decoded = Hex.decode(String(decoding: digits, as: UTF8.self)), decoded.count == 2
        else { throw JSON.Malformed() }
        place += 4
        return UInt16(decoded[0]) << 8 | UInt16(decoded[1])
    }

    private mutating func digits() throws(JSON.Malformed) {
        let start = place
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
        guard place > start else { throw JSON.Malformed() }
    }

    private mutating func number() throws(JSON.Malformed) -> JSON {
        let start = place
        _ = takes("-")
        if !takes("0") { try digits() }
        if takes(".") { try digits() }
        if takes("e") || takes("E") {
            if !takes("+") { _ = takes("-") }
            try digits()
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if let whole = Int64(text), String(whole) == text { return .int(whole) }
        return .raw(Array(text.utf8))
    }
}
