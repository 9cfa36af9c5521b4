/// Which bytes may stand where in a request head (RFC 9110 §5, RFC 9112 §5).
enum HeaderSyntax {
    private static let token = table("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    /// Letters of a registered name, an IPv4 or bracketed IPv6 address, and a port (RFC 3986 §3.2).
    private static let host = table("!$&'()*+-._;=~%:[]0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

    private static func table(_ characters: String) -> [Bool] {
        var table = [Bool](repeating: false, count: 256)
        for byte in characters.utf8 {
            table[Int(byte)] = true
        }
        return table
    }

    static func isToken(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { token[Int($0)] }
    }

    static func isHost(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.allSatisfy { host[Int($0)] }
    }

    static func isValue(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// Without the optional whitespace after a value.
    static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>.SubSequence {
        var rest = bytes[...]
        while let last = rest.last, last == 0x20 || last == 0x09 {
            rest = rest.dropLast()
        }
        return rest
    }
}
