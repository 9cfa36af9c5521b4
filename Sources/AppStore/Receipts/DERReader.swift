/// Reads ASN.1 values in DER (X.690 §10) one after the other: definite lengths only, and never beyond the bytes.
struct DERReader {
    struct Value {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    static let integer: UInt8 = 0x02
    static let octets: UInt8 = 0x04
    static let utf8: UInt8 = 0x0c
    static let ascii: UInt8 = 0x16
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next value; nil at the end, and for what is none.
    mutating func next() -> Value? {
        // Tags of more than one byte are in no receipt.
        guard let tag = rest.popFirst(), tag & 0x1f != 0x1f, let length = length(), length <= rest.count else {
            rest = []
            return nil
        }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Value(tag: tag, content: content)
    }

    /// The next value, if it has this tag.
    mutating func next(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard let value = next(), value.tag == tag else { return nil }
        return value.content
    }

    private mutating func length() -> Int? {
        guard let first = rest.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        let count = Int(first & 0x7f)
        guard (1...4).contains(count), rest.count >= count else { return nil }
        var length = 0
        for _ in 0..<count { length = length << 8 | Int(rest.popFirst() ?? 0) }
        return length
    }
}

extension DERReader.Value {
    /// A whole number of at most four bytes that is not negative.
    static func number(_ content: ArraySlice<UInt8>) -> Int? {
        guard (1...5).contains(content.count), let first = content.first, first < 0x80 else { return nil }
        return content.reduce(0) { $0 << 8 | Int($1) }
    }
}
