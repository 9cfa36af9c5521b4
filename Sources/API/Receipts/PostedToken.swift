import Base

/// What an app may post as `fetch_token`.
enum PostedToken: Equatable {
    /// A StoreKit 2 transaction, as a compact JWS.
    case transaction(String)
    /// An app receipt (PKCS#7).
    case receipt([UInt8])
    /// What Xcode makes for tests on a developer's machine: only that machine can check it.
    case xcode
    /// Neither; what it is instead, never with a part of it.
    case unknown(String)

    init(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 3 {
            let payload = parts.dropFirst().first.flatMap { Base64.decodeURL(Array($0.utf8)) }
            let environment = payload.flatMap { try? JSON(parsing: $0, deepest: APICall.deepestBody) }?["environment"]?
                .stringValue
            self = environment.map(PostedToken.isLocal) ?? false ? .xcode : .transaction(text)
            return
        }
        // Receipts may come with line breaks in them.
        let plain = text.utf8.filter { $0 != 0x0a && $0 != 0x0d }
        guard let bytes = Base64.decode(plain), let first = bytes.first,
            !PostedToken.isTransactionID(text)
        else {
            self = .unknown(PostedToken.kind(of: text, parts.count))
            return
        }
        if first == UInt8(ascii: "{") {
            let environment = (try? JSON(parsing: bytes, deepest: APICall.deepestBody))?["environment"]?.stringValue
            self = environment.map(PostedToken.isLocal) ?? false ? .xcode : .unknown("a JSON document in base64")
        } else {
            // A sequence.
            self =
                first == 0x30
                ? .receipt(bytes) : .unknown("base64 of \(bytes.count) bytes that are no PKCS #7 container")
        }
    }

    private static func isTransactionID(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func kind(of text: String, _ parts: Int) -> String {
        if isTransactionID(text) { return "the id of a transaction, which POST /apple/transactions takes" }
        if text.hasPrefix("{") { return "a JSON document" }
        if parts > 1 { return "a text of \(parts) parts with dots between them, where a signed transaction has 3" }
        return "a text of \(text.utf8.count) bytes that is not base64"
    }

    private static func isLocal(_ environment: String) -> Bool {
        ["xcode", "localtesting"].contains(environment.lowercased())
    }
}
