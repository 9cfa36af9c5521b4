import Base
import Crypto

/// A certificate of a verified chain, and how its responder is asked about it.
package struct RevocationCheck: Sendable {
    let certificate: Certificate
    let issuer: Certificate
    /// Where to send the request by `POST`: `http:` or `https:`, as the certificate's issuer wrote it.
    package let url: String
    /// `application/ocsp-request`.
    package let body: [UInt8]

    /// Nil for a certificate that names no responder.
    init?(of certificate: Certificate, issuedBy issuer: Certificate) {
        guard let url = certificate.ocspResponder, let request = OCSPRequest(about: certificate, issuedBy: issuer)
        else { return nil }
        self.certificate = certificate
        self.issuer = issuer
        self.url = url
        body = request.der
    }

    /// Who and what, for log lines.
    package var subject: String { certificate.subject }
    /// SHA-256 of the certificate, 64 lower-case hexadecimal digits.
    package var fingerprint: String { Hex.encode(certificate.fingerprint) }
}

/// How a check ended.
package struct RevocationReport: Sendable {
    package enum CheckResult: Sendable, Equatable {
        case answered(OCSPAnswer.Status)
        /// The responder sent something else.
        case failed(OCSPFailure)
        /// Fresh, but signed before what is known already: a replay, or a responder that lags behind.
        case outdated
        case noAnswer

        /// How metrics name it.
        package var label: String {
            switch self {
            case .answered(.good): "good"
            case .answered(.revoked): "revoked"
            case .answered(.unknown): "unknown"
            case .failed(let failure): failure.rawValue
            case .outdated: "outdated"
            case .noAnswer: "no_answer"
            }
        }
    }

    package let outcome: CheckResult
    package let before: RevocationStatus
    package let after: RevocationStatus
    /// When it is asked again, milliseconds since 1970.
    package let nextCheck: Int64
}
