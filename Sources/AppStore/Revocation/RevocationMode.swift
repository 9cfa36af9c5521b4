/// How much the status of Apple's certificates counts (OCSP, RFC 6960).
package enum RevocationMode: String, Sendable, CaseIterable {
    /// No responder is asked.
    case off
    /// A certificate that is known to be revoked refuses; one whose status is not known passes, and nothing waits.
    case soft
    /// As `soft`, and a certificate that is valid now passes only with a fresh "good". Without one it is unknown
    /// whether the data is genuine, and it has to be sent again.
    case hard
}
