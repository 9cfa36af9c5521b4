/// Why signed data was refused. Neither member has anything of the payload but the identifiers that did not match.
package struct VerificationFailure: Error, Sendable, Equatable {
    /// The first reason that applies, in the order of these cases.
    package enum Reason: String, Sendable, CaseIterable {
        /// Not three base64url parts with a JSON object as the first (RFC 7515 §7.1).
        case malformedJWS = "malformed_jws"
        /// `alg` is not `ES256`.
        case unsupportedAlgorithm = "unsupported_algorithm"
        /// `x5c` has not exactly three certificates.
        case chainLength = "chain_length"
        /// One of them is no base64, or no certificate.
        case malformedCertificate = "malformed_certificate"
        /// The third is no trusted root.
        case untrustedRoot = "untrusted_root"
        /// The second lacks Apple's marker of its intermediates.
        case missingIntermediateOID = "missing_intermediate_oid"
        /// The first lacks Apple's marker of receipt signing.
        case missingLeafOID = "missing_leaf_oid"
        /// One of the three is not valid at the date.
        case certificateNotValidAtDate = "certificate_not_valid_at_date"
        /// The path is not valid for another reason (RFC 5280 §6), or the leaf's key is not on P-256.
        case badChain = "bad_chain"
        /// Not signed with the leaf's key.
        case badSignature = "bad_signature"
        /// The leaf or the intermediate is revoked (RFC 6960). Only where revocation is looked up.
        case certificateRevoked = "certificate_revoked"
        /// It is unknown now whether one of them is revoked: no forgery, and worth another attempt. Only where an
        /// answer is required.
        case revocationUnknown = "revocation_unknown"
        /// Signed, but no JSON object, or not one of the kind that was asked for.
        case malformedPayload = "malformed_payload"
        case wrongBundleID = "wrong_bundle_id"
        case wrongAppleAppID = "wrong_apple_app_id"
        case wrongEnvironment = "wrong_environment"
    }

    package let reason: Reason
    /// One line for people.
    package let detail: String

    package init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// The same failure of data inside other signed data.
    func inside(_ member: String) -> VerificationFailure {
        VerificationFailure(reason, "\(member): \(detail)")
    }
}
