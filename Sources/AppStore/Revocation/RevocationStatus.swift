/// What is known about whether a certificate is revoked.
package enum RevocationStatus: String, Sendable, CaseIterable {
    /// By an answer that is still fresh.
    case good
    /// Until a newer answer says otherwise.
    case revoked
    /// The responder does not know the certificate.
    case unknown
    /// It was asked about, or will be, and there is no fresh answer.
    case unanswered
    /// No responder is asked: it names none, or is not valid now.
    case notAsked = "not_asked"
}
