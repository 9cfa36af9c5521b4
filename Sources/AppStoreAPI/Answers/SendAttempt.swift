import AppStore

/// One attempt of Apple's to deliver a notification
/// (https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem).
package struct SendAttempt: WirePayload, Equatable {
    /// Milliseconds since 1970.
    package let date: Int64?
    package let result: SendAttemptResult?

    package init(_ members: Members) {
        date = members.integer("attemptDate")
        result = members.text("sendAttemptResult").map(SendAttemptResult.init)
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptresult. Others are kept as they are.
package struct SendAttemptResult: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let success = SendAttemptResult(rawValue: "SUCCESS")

    /// What happened, in words that help.
    package var meaning: String {
        SendAttemptResult.meanings[rawValue] ?? "an unknown result: \(rawValue.prefix(60))"
    }

    /// All that are documented, and the older name of TLS_ISSUE.
    package static let meanings = [
        "SUCCESS": "delivered",
        "CIRCULAR_REDIRECT": "the server redirects in a circle",
        "INVALID_RESPONSE": "the server's answer is not valid",
        "NO_RESPONSE": "the server did not answer",
        "OTHER": "it failed, and Apple gave no reason",
        "PREMATURE_CLOSE": "the server closed the connection while Apple was sending",
        "SOCKET_ISSUE": "the network between Apple and the server failed",
        "TIMED_OUT": "the server took too long to answer",
        "TLS_ISSUE": "no TLS connection: Apple wants TLS 1.2 or newer and a certificate that is publicly valid",
        "SSL_ISSUE": "no TLS connection: Apple wants TLS 1.2 or newer and a certificate that is publicly valid",
        "UNSUCCESSFUL_HTTP_RESPONSE_CODE": "the server answered, but not with 200",
        "UNSUPPORTED_CHARSET": "the server's answer is in a character set that Apple does not know",
    ]
}
