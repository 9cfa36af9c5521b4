import Base

/// What an app may post as `fetch_token`.
enum PostedToken: Equatable {
    /// A StoreKit 2 transaction, as a compact JWS.
    case transaction(String)
    /// An app receipt (PKCS#7).
    case receipt([UInt8])
    /// What Xcode makes for tests on a developer's machine: only that machine can check it.
    case xcode
    case unknown

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
        guard let bytes = Base64.decode(plain), let first = bytes.first else {
            self = .unknown
            return
        }
        if first == UInt8(ascii: "{") {
            let environment = (try? JSON(parsing: bytes, deepest: APICall.deepestBody))?["environment"]?.stringValue
            self = environment.map(PostedToken.isLocal) ?? false ? .xcode : .unknown
        } else {
            // A sequence.
            self = first == 0x30 ? .receipt(bytes) : .unknown
        }
    }

    private static func isLocal(_ environment: String) -> Bool {
        ["xcode", "localtesting"].contains(environment.lowercased())
    }
}
