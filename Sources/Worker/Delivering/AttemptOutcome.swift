import HTTP

/// What came of an attempt, as the log of attempts names it.
package enum AttemptOutcome: String, Sendable, CaseIterable {
    /// 2xx.
    case delivered
    /// 410: the consumer wants no more.
    case gone
    /// A redirect, which is not followed.
    case status3xx = "status_3xx"
    case status4xx = "status_4xx"
    case status5xx = "status_5xx"
    /// Neither: an interim status that was final, or none that HTTP knows.
    case statusOther = "status_other"
    /// The address is private, the port another service's, or plain HTTP would leave the allowed networks: nothing was sent.
    case refusedAddress = "refused_address"
    case invalidURL = "invalid_url"
    /// A header cannot be sent.
    case invalidRequest = "invalid_request"
    /// The name does not exist, or has no address.
    case dnsNotFound = "dns_not_found"
    /// The name's servers failed or were silent, while others answered.
    case dnsTemporary = "dns_temporary"
    /// No connection: refused or unreachable.
    case connect
    /// No handshake, or a certificate that is not trusted.
    case tls
    /// Not done in time; with a status, where the response did not end.
    case timeout
    /// The connection ended before the response did.
    case closed
    /// More headers than are read.
    case tooLarge = "too_large"
    case notHTTP = "not_http"
    /// This side's fault: no attempt is written down for it.
    case infrastructure
    /// Cut because the worker ended; costs no attempt.
    case interrupted
    case other

    package init(_ outcome: TransferOutcome) {
        switch outcome {
        case .response(let response):
            switch response.status {
            case 200..<300: self = .delivered
            case 410: self = .gone
            case 300..<400: self = .status3xx
            case 400..<500: self = .status4xx
            case 500..<600: self = .status5xx
            default: self = .statusOther
            }
        case .failure(let failure): self = AttemptOutcome(rawValue: failure.kind.rawValue) ?? .other
        }
    }
}

extension TransferOutcome {
    /// Of a whole response.
    var status: Int? {
        if case .response(let response) = self { response.status } else { nil }
    }
}
