import Crypto

/// Keys that cannot be guessed, of letters and digits after a prefix that says what they are for.
enum RandomKey {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    /// Letters and digits after the prefix: 190 bits, of which the hint shows 23.
    private static let length = 32
    private static let shown = 4

    static func make(_ prefix: String) -> String {
        var text: [UInt8] = []
        while text.count < length {
            // 248 is the greatest multiple of 62 in a byte: no letter is likelier than another.
            text += SecureRandom.bytes(length).filter { $0 < 248 }.map { alphabet[Int($0) % alphabet.count] }
        }
        return prefix + String(decoding: text.prefix(length), as: UTF8.self)
    }

    /// How the key begins, as lists show it.
    static func hint(_ key: String, _ prefix: String) -> String { String(key.prefix(prefix.count + shown)) }
}
