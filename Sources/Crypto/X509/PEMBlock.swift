import Base

/// Textual encoding of keys and certificates (RFC 7468).
package enum PEMBlock {
    /// `-----BEGIN LABEL-----`, base64 in lines of 64 characters, `-----END LABEL-----`, each with a newline.
    package static func encode(_ label: String, _ der: [UInt8]) -> String {
        let text = Array(Base64.encode(der).utf8)
        var output = "-----BEGIN \(label)-----\n"
        for start in stride(from: 0, to: text.count, by: 64) {
            output += String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self) + "\n"
        }
        return output + "-----END \(label)-----\n"
    }

    /// The DER of every block of this label, in order; nil if a block has no end or is no base64.
    package static func decode(_ label: String, _ text: String) -> [[UInt8]]? {
        var blocks: [[UInt8]] = []
        var current: [UInt8]?
        for line in text.split(whereSeparator: \.isNewline) {
            if line == "-----BEGIN \(label)-----" {
                guard current == nil else { return nil }
                current = []
            } else if line == "-----END \(label)-----" {
                guard let whole = current, let der = Base64.decode(whole) else { return nil }
                blocks.append(der)
                current = nil
            } else {
                current?.append(contentsOf: line.utf8.filter { $0 != UInt8(ascii: " ") })
            }
        }
        return current == nil ? blocks : nil
    }
}
