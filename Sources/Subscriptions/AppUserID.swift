/// Which texts may name a customer (RevenueCat: Identifying Customers, "App User ID requirements").
package enum AppUserID {
    /// In characters.
    package static let longest = 100
    /// In bytes of UTF-8: one character may be made of any number of marks.
    private static let most = 4 * longest

    /// What apps send when they know nobody: an id of it would make one customer of many.
    private static let blocked: Set<String> = [
        "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "unidentified", "undefined", "unknown", "anonymous",
        "guest", "-1", "0", "[]", "{}", "[object Object]",
    ]

    /// Why this can name nobody, as the end of a sentence; nil: it can.
    package static func objection(to id: String) -> String? {
        if id.isEmpty || id.allSatisfy(\.isWhitespace) { return "is empty" }
        if id.utf8.count > most || id.count > longest { return "is longer than \(longest) characters" }
        if id.contains("/") { return "has a slash" }
        if id.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
            return "has control characters"
        }
        if blocked.contains(id) { return "is what apps send when they know nobody" }
        return nil
    }

    /// An app account token that stands for nobody: some SDKs send the UUID of zeros.
    package static func isNobody(token: String) -> Bool {
        token.allSatisfy { $0 == "0" || $0 == "-" } || objection(to: token) != nil
    }
}
