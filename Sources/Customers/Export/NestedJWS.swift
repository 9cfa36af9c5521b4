import Base

/// What is inside signed data: every JWS in it, whatever member it is in, decoded.
enum NestedJWS {
    /// The payload with each JWS inside replaced by its payload; nil where it is no JSON.
    static func decoded(_ payload: [UInt8]) -> JSON? {
        (try? JSON(parsing: payload)).map(decoded)
    }

    private static func decoded(_ json: JSON) -> JSON {
        switch json {
        case .string(let text): payload(of: text).map(decoded) ?? json
        case .array(let values): .array(values.map(decoded))
        case .object(let members):
            .object(members.map { JSON.Member(name: $0.name, value: decoded($0.value)) })
        default: json
        }
    }

    /// The payload of a compact JWS; nil for any other text.
    private static func payload(of text: String) -> JSON? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].starts(with: "eyJ".utf8), let bytes = Base64.decodeURL(parts[1]) else {
            return nil
        }
        return try? JSON(parsing: bytes)
    }

    /// Whether any text in it is one of these names.
    static func names(_ json: JSON, _ isName: (String) -> Bool) -> Bool {
        switch json {
        case .string(let text): isName(text)
        case .array(let values): values.contains { names($0, isName) }
        case .object(let members): members.contains { names($0.value, isName) }
        default: false
        }
    }

    /// Whether it has an app account token, whosever it is.
    static func hasToken(_ json: JSON) -> Bool {
        switch json {
        case .array(let values): values.contains(where: hasToken)
        case .object(let members): members.contains { $0.name == "appAccountToken" || hasToken($0.value) }
        default: false
        }
    }
}
