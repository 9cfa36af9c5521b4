import Foundation

/// Which texts may name a customer (RevenueCat: Identifying Customers, "App User ID requirements").
package enum AppUserID {
    /// In code points, as every language and JSON Schema counts: one character may be made of any number of them.
    package static let longest = 100

    /// What apps send when they know nobody: an id of it would make one customer of many.
    private static let blocked: Set<String> = [
        "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "unidentified", "undefined", "unknown", "anonymous",
        "guest", "-1", "0", "[]", "{}", "[object Object]",
    ]

    /// Why this can name nobody, as the end of a sentence; nil: it can.
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
        if blocked.contains(id) { return "is what apps send when they know nobody" }
        return nil
    }

    /// In Unicode's normal form C, which every id has to have: of two spellings of `é` the database makes two texts, and
    /// Swift one, so that two customers would be one here and there.
    package static func normal(_ id: String) -> String {
        id.utf8.allSatisfy { $0 < 0x80 } ? id : id.precomposedStringWithCanonicalMapping
    }

    /// An app account token that stands for nobody: some SDKs send the UUID of zeros.
    package static func isNobody(token: String) -> Bool {
        token.allSatisfy { $0 == "0" || $0 == "-" } || objection(to: token) != nil
    }
}
