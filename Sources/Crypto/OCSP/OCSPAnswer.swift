/// What a responder signed about one certificate (RFC 6960 §2.2).
package struct OCSPAnswer: Sendable, Equatable {
    package enum Status: Sendable, Equatable {
        case good
        case revoked(Revocation)
        /// The responder does not know the certificate.
        case unknown
    }

    /// Since when a certificate is revoked, and why.
    package struct Revocation: Sendable, Equatable {
        /// Milliseconds since 1970.
        package let date: Int64
        /// CRLReason (RFC 5280 §5.3.1); nil if none was given.
        package let reason: Int?

        package init(date: Int64, reason: Int?) {
            self.date = date
            self.reason = reason
        }

        /// Whether the reason says that the key stayed its holder's: affiliation changed, superseded, or out of use.
        /// What was signed before the date is genuine then; after any other reason its date of signing proves nothing,
        /// because the holder of the key writes it.
        package var leavesOlderSignatures: Bool { reason.map { (3...5).contains($0) } ?? false }
    }

    package let status: Status
    /// When the status was known to be right, milliseconds since 1970.
    package let thisUpdate: Int64
    /// When newer information is there at the latest, milliseconds since 1970.
    package let nextUpdate: Int64

    package init(status: Status, thisUpdate: Int64, nextUpdate: Int64) {
        self.status = status
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }
}

/// Why what came from a responder is no answer.
package enum OCSPFailure: String, Error, Sendable, CaseIterable {
    /// Not one OCSP response in DER with nothing after it, or one with unreadable times.
    case malformed
    /// The responder says that it cannot answer: try later, unauthorized and the like (RFC 6960 §2.3).
    case refused
    /// Not signed by the issuer or by whom the issuer lets answer for it (RFC 6960 §4.2.2.2), or by a digest weaker than
    /// SHA-256.
    case untrusted
    /// About another certificate.
    case otherCertificate = "other_certificate"
    /// From the future.
    case notYetValid = "not_yet_valid"
    /// Newer information should be there already, or none is promised.
    case stale
}
