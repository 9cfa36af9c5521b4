/// What must hold of JSON text before Foundation reads it.
enum JSONText {
    /// Whether the bytes are UTF-8 and begin an object. Foundation's decoder would take UTF-16 and UTF-32 too, and
    /// guesses them from a byte order mark or from zeros among the first bytes; RFC 8259 §8.1 knows UTF-8 only.
    static func isUTF8Object(_ bytes: [UInt8]) -> Bool {
        guard !bytes.prefix(4).contains(0), let first = bytes.first(where: { !isSpace($0) }),
            first == UInt8(ascii: "{")
        else { return false }
        return (try? UTF8Span(validating: bytes.span)) != nil
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
    }

    /// How many members an object has, those included whose name comes again, which a decoder does not tell. Only for
    /// bytes that were decoded as an object: nothing else is checked.
    static func memberCount(ofObject bytes: [UInt8]) -> Int {
        var (count, depth) = (0, 0)
        var (isText, isEscaped) = (false, false)
        for byte in bytes {
            if isText {
                // A backslash takes the next byte with it, which may be a quote.
                isText = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ":") where depth == 1: count += 1
            default: break
            }
        }
        return count
    }
}
