import Base

/// A header that an operator wants in every request to an endpoint. Its value may be a secret.
package struct CustomHeader: Sendable, Equatable {
    /// As given; headers are told apart without regard to case.
    package let name: String
    package let value: Redacted<String>

    /// Of one endpoint.
    package static let limit = 64
    /// Bytes of the name and the value together.
    package static let sizeLimit = 4096

    /// Why a header is refused; names what is wrong and never the value.
    package struct Rejection: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// Reads `Name: value`; white space around the value is not part of it (RFC 9110 §5.5).
    package init(parsing text: String) throws(Rejection) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw Rejection(description: "a header is written as 'Name: value'")
        }
        let value = text[text.utf8.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let end = value.lastIndex { $0 != " " && $0 != "\t" }
        try self.init(name: String(text[..<colon]), value: end.map { String(value[...$0]) } ?? "")
    }

    package init(name: String, value: String) throws(Rejection) {
        guard !name.isEmpty, name.utf8.allSatisfy(CustomHeader.isToken) else {
            throw Rejection(description: "a header's name may have letters, digits and !#$%&'*+-.^_`|~ only")
        }
        if let reason = CustomHeader.reservation(of: name.lowercased()) {
            throw Rejection(description: "the header \(name) cannot be set: \(reason)")
        }
        guard !value.isEmpty, value.utf8.allSatisfy({ (0x20..<0x7f).contains($0) || $0 == 0x09 }) else {
            throw Rejection(
                description: "the value of the header \(name) must be ASCII without control characters, and not empty")
        }
        guard name.utf8.count + value.utf8.count <= CustomHeader.sizeLimit else {
            throw Rejection(description: "the header \(name) is longer than \(CustomHeader.sizeLimit) bytes")
        }
        self.name = name
        self.value = Redacted(value)
    }

    package func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }

    // MARK: - Names

    /// RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static let reserved: [String: String] = [
        "authorization": "use --authorization",
        "user-agent": "it says who sends, and which version",
        "x-revenuecat-webhook-signature": "it is the signature",
    ]

    private static let ofTheConnection: Set<String> = [
        "host", "connection", "te", "transfer-encoding", "trailer", "upgrade", "expect", "keep-alive", "http2-settings",
    ]

    private static let reservedBeginnings = [
        ("webhook-", "it belongs to Standard Webhooks"), ("entitled-", "such names are entitled's own"),
        ("content-", "it describes the body"), ("proxy-", "it belongs to the connection"),
    ]

    /// Why it must not be set. Cookies are allowed: some gateways know a client by a fixed one, and nothing here sets any.
    private static func reservation(of name: String) -> String? {
        if ofTheConnection.contains(name) { return "it belongs to the connection" }
        return reserved[name] ?? reservedBeginnings.first { name.hasPrefix($0.0) }?.1
    }
}

/// How headers are kept: sealed as one text, a line for each.
package enum CustomHeaderText {
    package static func encode(_ headers: [CustomHeader]) -> [UInt8] {
        Array(headers.map { "\($0.name):\($0.value.exposed)\n" }.joined().utf8)
    }

    /// Nil for what `encode` did not make.
    package static func decode(_ bytes: [UInt8]) -> [CustomHeader]? {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let headers = lines.compactMap { try? CustomHeader(parsing: String($0)) }
        return headers.count == lines.count ? headers : nil
    }
}
