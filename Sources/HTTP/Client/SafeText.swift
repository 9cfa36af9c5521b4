/// Texts from outside, made fit for logs and terminals.
enum SafeText {
    /// Printable ASCII without spaces around it, at most `limit` bytes; other bytes become `?`.
    static func make(_ bytes: some Sequence<UInt8>, limit: Int) -> String {
        var result: [UInt8] = []
        for byte in bytes {
            if result.count == limit { break }
            switch byte {
            case 0x21...0x7e: result.append(byte)
            case 0x20, 0x09, 0x0d, 0x0a: if !result.isEmpty { result.append(0x20) }
            default: result.append(UInt8(ascii: "?"))
            }
        }
        while result.last == 0x20 { result.removeLast() }
        return String(decoding: result, as: UTF8.self)
    }
}
