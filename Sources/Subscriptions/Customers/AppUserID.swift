import Foundation

/// Which texts may name a customer (RevenueCat: Identifying Customers, "App User ID requirements").
package enum AppUserID {
    /// In code points, as every language and JSON Schema counts: one character may be made of any number of them.
    package static let longest = 100

    /// Placeholders that apps send without a user: as ids they would make one customer of many.
    private static let blocked: Set<String> = [
        "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "unidentified", "undefined", "unknown", "anonymous",
        "guest", "-1", "0", "[]", "{}", "[object Object]",
    ]

    /// Why this cannot name a customer, as the end of a sentence; nil: it can.
    package static func objection(to id: String) -> String? {
        // A mark after it makes another character of a slash, and of a space.
        let points = id.unicodeScalars
        if points.allSatisfy(\.properties.isWhitespace) { return "is empty" }
        if points.count > longest { return "is longer than \(longest) characters" }
        if points.contains("/") { return "has a slash" }
        if points.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
            return "has control characters"
        }
        if !points.elementsEqual(normal(id).unicodeScalars) { return "is not in Unicode's normal form C" }
        if blocked.contains(id) { return "is a placeholder that apps send without a customer" }
        return nil
    }

    /// In Unicode's normal form C, which every id has to have: of two spellings of `é` the database makes two texts, and
    /// Swift one, so that two customers would be one here and there.
    package static func normal(_ id: String) -> String {
        id.utf8.allSatisfy { $0 < 0x80 } ? id : id.precomposedStringWithCanonicalMapping
    }

    /// An app account token that names no customer: some SDKs send the UUID of zeros.
    package static func isNobody(token: String) -> Bool {
        token.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: "-") }
            || !isUUID(token) && objection(to: token) != nil
    }

    /// The spelling by which ids are compared: Apple writes account tokens in lower case and apps write UUIDs as they like, so
    /// a UUID is one id in any case. All other ids are as they are.
    package static func canonical(_ id: String) -> String { isUUID(id) ? id.lowercased() : id }

    /// 36 characters of RFC 9562's text form.
    package static func isUUID(_ id: String) -> Bool {
        let bytes = id.utf8
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { place, byte in
            switch place {
            case 8, 13, 18, 23: byte == 0x2d
            default: (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
            }
        }
    }
}
