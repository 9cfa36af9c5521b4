/// base64url without padding (RFC 7515 §2), and strict base64 (RFC 4648 §4) as the `x5c` header has it.
///
/// Own code because Foundation reads neither the URL alphabet nor rejects what is not canonical.
package enum Base64 {
    private static let standardAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standardValues = values(of: standardAlphabet)
    private static let urlValues = values(of: urlAlphabet)
    private static let invalid: UInt8 = 255

    private static func values(of alphabet: [UInt8]) -> [UInt8] {
        var table = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.enumerated() {
            table[Int(character)] = UInt8(value)
        }
        return table
    }

    /// Bytes of an unpadded base64url text; nil for any other character, an impossible length, or bits left over.
    package static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable { decode($0, urlValues) }
            ?? Array(text).withUnsafeBufferPointer {
                decode($0, urlValues)
            }
    }

    /// Bytes of a padded base64 text; nil for any other character, wrong padding, or bits left over.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let bytes = Array(text)
        guard bytes.count % 4 == 0 else { return nil }
        let padding = bytes.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return bytes.withUnsafeBufferPointer { whole in
            decode(UnsafeBufferPointer(rebasing: whole.dropLast(padding)), standardValues)
        }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>, _ table: [UInt8]) -> [UInt8]? {
        let (groups, rest) = text.count.quotientAndRemainder(dividingBy: 4)
        guard rest != 1 else { return nil }
        let length = groups * 3 + (rest == 0 ? 0 : rest - 1)
        var isValid = true
        let decoded = table.withUnsafeBufferPointer { table in
            [UInt8](unsafeUninitializedCapacity: length) { output, count in
                var bad: UInt8 = 0
                var place = 0
                for group in 0..<groups {
                    let from = group * 4
                    let (a, b) = (table[Int(text[from])], table[Int(text[from + 1])])
                    let (c, d) = (table[Int(text[from + 2])], table[Int(text[from + 3])])
                    bad |= a | b | c | d
                    output[place] = a << 2 | b >> 4
                    output[place + 1] = b << 4 | c >> 2
                    output[place + 2] = c << 6 | d
                    place += 3
                }
                if rest > 0 {
                    let (a, b) = (table[Int(text[groups * 4])], table[Int(text[groups * 4 + 1])])
                    let c = rest == 3 ? table[Int(text[groups * 4 + 2])] : 0
                    bad |= a | b | c
                    output[place] = a << 2 | b >> 4
                    if rest == 3 {
                        output[place + 1] = b << 4 | c >> 2
                    }
                    // Bits that no byte takes must be zero, or two texts would mean the same bytes.
                    if (rest == 2 ? b & 0x0f : c & 0x03) != 0 {
                        bad = invalid
                    }
                }
                isValid = bad & 0xc0 == 0
                count = length
            }
        }
        return isValid ? decoded : nil
    }

    package static func encodeURL(_ bytes: some Collection<UInt8>) -> String {
        encode(Array(bytes), urlAlphabet, padded: false)
    }

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        encode(Array(bytes), standardAlphabet, padded: true)
    }

    private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], padded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let a = bytes[index]
            let b = left > 1 ? bytes[index + 1] : 0
            let c = left > 2 ? bytes[index + 2] : 0
            text.append(alphabet[Int(a >> 2)])
            text.append(alphabet[Int((a & 0x03) << 4 | b >> 4)])
            if left > 1 {
                text.append(alphabet[Int((b & 0x0f) << 2 | c >> 6)])
            }
            if left > 2 {
                text.append(alphabet[Int(c & 0x3f)])
            }
            index += 3
        }
        while padded && text.count % 4 != 0 {
            text.append(UInt8(ascii: "="))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
