import FoundationEssentials

/// Sixteen bytes as the text of a UUID, upper-case as events have it.
package enum UUIDText {
    package static func upper(_ bytes: [UInt8]) -> String {
        let digits = Hex.encode(bytes).uppercased()
        guard bytes.count == 16 else { return digits }
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (place, digit) in digits.utf8.enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append(UInt8(ascii: "-")) }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil unless the text is a UUID with dashes.
    package static func bytes(_ text: String) -> [UInt8]? {
        UUID(uuidString: text).map { uuid in withUnsafeBytes(of: uuid.uuid) { Array($0) } }
    }
}
