import Base

/// What people want to know of a certificate.
package struct CertificateSummary: Sendable, Equatable {
    /// `CN=…, OU=…, O=…, C=…`.
    package let subject: String
    /// SHA-256 of the certificate, 64 lower-case hexadecimal digits.
    package let sha256: String
    /// First instant of validity, milliseconds since 1970.
    package let notBefore: Int64
    /// End of validity, milliseconds since 1970.
    package let notAfter: Int64

    package init(_ certificate: Certificate) {
        subject = certificate.subject
        sha256 = Hex.encode(certificate.fingerprint)
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
    }
}
