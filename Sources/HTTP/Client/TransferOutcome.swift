/// How a request ended.
package enum TransferOutcome: Sendable {
    /// A whole response, or one whose body was cut at the limit, whatever its status.
    case response(OutgoingResponse)
    case failure(TransferFailure)
}

/// A response to an outgoing request.
package struct OutgoingResponse: Sendable {
    package var status: Int
    /// `retry-after` as it was sent; printable ASCII, at most 256 bytes.
    package var retryAfter: String?
    /// `webhook-delivery` as it was sent: what the consumer wants done with the delivery; as above.
    package var delivery: String?
    /// `date` as it was sent: the other side's clock; as above.
    package var date: String?
    /// Its beginning, up to the configured limit, as sent.
    package var body: [UInt8]
    /// Whether there was more.
    package var truncated: Bool
    /// From the start of the transfer, name lookup included.
    package var milliseconds: Int64
    package var reusedConnection: Bool
    package var trace = TransferTrace()
}

/// Why there is no response.
package struct TransferFailure: Sendable, Error {
    package enum Kind: String, Sendable, CaseIterable {
        /// The address is private, or plain HTTP would leave the allowed networks. Nothing was sent.
        case refusedAddress = "refused_address"
        case invalidURL = "invalid_url"
        /// A header or the method cannot be sent.
        case invalidRequest = "invalid_request"
        case dnsNotFound = "dns_not_found"
        case dnsTemporary = "dns_temporary"
        case connect
        case tls
        /// Not done within the request's timeout: also when a status came, but the body did not end.
        case timeout
        /// The connection ended before the response did.
        case closed
        /// More header bytes than the limit.
        case tooLarge = "too_large"
        /// What came is not HTTP.
        case notHTTP = "not_http"
        /// This host's own fault: no descriptors, ports or memory. Says nothing about the target.
        case infrastructure
        /// Cut by `stop`.
        case interrupted
        case other
    }

    package var kind: Kind
    /// For people and logs: host and address, never path, query, headers or bodies.
    package var message: String
    package var milliseconds: Int64
    /// Of a response that did not end well.
    package var status: Int?
    /// What came of that response's body, up to the configured limit.
    package var body: [UInt8] = []
    package var trace = TransferTrace()
}

extension TransferFailure {
    /// One that came before a connection did.
    package init(unsent kind: Kind, message: String, milliseconds: Int64 = 0) {
        self.init(kind: kind, message: message, milliseconds: milliseconds)
    }
}
