/// One request to send.
package struct OutgoingRequest: Sendable {
    package var url: String
    package var method: String
    /// Sent in this order, values byte for byte. Those that frame the message are refused: host, content-length,
    /// transfer-encoding, connection and the like.
    package var headers: [(String, String)]
    package var body: [UInt8]
    /// For everything from its start to the last byte of the response: name lookup, connection, headers, body.
    package var timeout: Duration

    /// Whether it must go over a connection of its own. On one that was used before, libcurl sends a request again by
    /// itself when the connection turns out to be dead (`CONN_MAX_RETRIES` in its lib/transfer.c): quick where the other
    /// side merely closed an idle connection, wrong where each time it is sent counts.
    package var needsNewConnection: Bool
    /// Bytes of the response's body that are kept, where they are other than the client's own.
    package var responseLimit: Int?

    package init(
        url: String, method: String = "POST", headers: [(String, String)] = [], body: [UInt8] = [],
        timeout: Duration = .seconds(30), needsNewConnection: Bool = false,
        responseLimit: Int? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.needsNewConnection = needsNewConnection
        self.responseLimit = responseLimit
    }

    /// Whether any of it could change the framing of the message, or be read as another header (RFC 9110 §5.5).
    var refusal: String? {
        guard (1...20).contains(method.utf8.count), method.utf8.allSatisfy(OutgoingRequest.isUpperCase) else {
            return "the method is not a word in capitals"
        }
        guard headers.count <= OutgoingRequest.mostHeaders else {
            return "there are more than \(OutgoingRequest.mostHeaders) headers"
        }
        for (name, value) in headers {
            guard !name.isEmpty, name.utf8.allSatisfy(OutgoingRequest.isToken) else {
                return "a header's name is not a token"
            }
            guard !OutgoingRequest.framing.contains(name.lowercased()), !name.lowercased().hasPrefix("proxy-") else {
                return "the header \(name.lowercased()) is not for callers to set"
            }
            guard name.utf8.count + value.utf8.count <= 8192 else {
                return "the header \(name) is longer than 8192 bytes"
            }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
                return "the value of the header \(name) has a line break or another control character"
            }
        }
        return nil
    }

    /// 64 of an endpoint's own, and those of a webhook.
    private static let mostHeaders = 80

    private static let framing: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "expect", "te", "trailer", "upgrade",
    ]

    private static func isUpperCase(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
