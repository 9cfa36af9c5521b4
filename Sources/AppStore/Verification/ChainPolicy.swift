import Base
import Crypto

/// Which chains of certificates Apple signs data for servers with: its libraries' rules, and the root must be sent too.
///
/// Where Apple's four libraries differ, the choice here:
/// - The algorithm is compared before any certificate is parsed, as Swift and Python do; Java comes to it after the
///   chain, Node only through the key. What costs nothing is refused before what costs a signature.
/// - There are exactly three certificates, as in all four, and the third must be one: only Java parses it. It is matched
///   with the trusted roots by fingerprint, or by name and key, never byte for byte: Apple's own test data carries
///   another certificate of its root.
/// - They are base64 of RFC 4648 §4 without line breaks, as RFC 7515 §4.1.6 has it; Node alone reads other spellings.
/// - All three must be valid at the date, without leeway: Node allows a minute, Java does not look at the root. An
///   expired root is one that its owner gave up.
/// - Apple's markers must be there, whatever is in them. A critical one is refused with every other critical extension
///   that is not known (RFC 5280 §4.2), as in Swift, Python and Java; Node does not look.
/// - Not OpenSSL's strict mode, which Python uses for real chains: it asks for key identifiers, which the roots of
///   Apple's test data have not.
struct ChainPolicy: Sendable {
    /// Apple's marker of the intermediates of Worldwide Developer Relations.
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    /// Apple's marker of leaves that sign receipts.
    static let leafMarker = "1.2.840.113635.100.6.11.1"

    let trust: TrustAnchors
    let cache: ChainCache

    /// The chain of a header, checked at an instant in milliseconds since 1970. What is cheap to refuse is refused
    /// before any signature is checked, and no signature of a stranger's making costs more than one check.
    func chain(of header: SigningHeader, at date: Int64) throws(VerificationFailure) -> VerifiedChain {
        guard header.algorithm == "ES256" else {
            throw VerificationFailure(.unsupportedAlgorithm, "the algorithm is not ES256")
        }
        let texts = header.certificates ?? []
        guard texts.count == 3 else {
            throw VerificationFailure(
                .chainLength, "\(texts.count) certificates instead of 3; expected are leaf, intermediate and root")
        }
        let leaf = try ChainPolicy.der(texts[0], at: 0)
        let intermediate = try ChainPolicy.der(texts[1], at: 1)
        let root = try ChainPolicy.der(texts[2], at: 2)
        if let known = cache.chain(leaf: leaf, intermediate: intermediate, root: root) {
            try known.requireValidity(at: date)
            return known
        }
        return try newChain(leaf: leaf, intermediate: intermediate, root: root, at: date)
    }

    private func newChain(
        leaf: [UInt8], intermediate: [UInt8], root: [UInt8], at date: Int64
    ) throws(VerificationFailure) -> VerifiedChain {
        let known = cache.path(throughIntermediate: intermediate)
        let leaf = try ChainPolicy.certificate(leaf, at: 0)
        let issuer = if let known { known.intermediate } else { try ChainPolicy.certificate(intermediate, at: 1) }
        let sentRoot = try ChainPolicy.certificate(root, at: 2)
        guard let anchor = trust.anchor(for: sentRoot) else {
            throw VerificationFailure(.untrustedRoot, "the root \(Hex.encode(sentRoot.fingerprint)) is not trusted")
        }
        guard issuer.extensions.contains(ChainPolicy.intermediateMarker) else {
            throw VerificationFailure(
                .missingIntermediateOID, "the intermediate lacks the extension \(ChainPolicy.intermediateMarker)")
        }
        guard leaf.extensions.contains(ChainPolicy.leafMarker) else {
            throw VerificationFailure(.missingLeafOID, "the leaf lacks the extension \(ChainPolicy.leafMarker)")
        }
        for certificate in [leaf, issuer, anchor] where !certificate.isValid(at: date) {
            throw .notValid(at: date, within: certificate.notBefore..<max(certificate.notBefore, certificate.notAfter))
        }
        // A leaf that a stranger put under a genuine intermediate shows itself by one check instead of two.
        guard known == nil || leaf.isSigned(by: issuer) else {
            throw VerificationFailure(.badChain, "the intermediate did not issue the leaf")
        }
        let path = CertificatePath(leaf: leaf, intermediate: issuer, anchor: anchor)
        guard path.isValid(at: date) else {
            throw VerificationFailure(.badChain, "the certificates are not a valid path from the leaf to the root")
        }
        guard let key = leaf.verificationKey else {
            throw VerificationFailure(.badChain, "the key of the leaf is not on P-256")
        }
        return VerifiedChain(path: path, sentRoot: root, key: key)
    }

    private static func der(_ text: String, at index: Int) throws(VerificationFailure) -> [UInt8] {
        guard let der = Base64.decode(text.utf8) else { throw .malformedCertificate(index) }
        return der
    }

    private static func certificate(_ der: [UInt8], at index: Int) throws(VerificationFailure) -> Certificate {
        guard let certificate = Certificate(der: der) else { throw .malformedCertificate(index) }
        return certificate
    }
}

extension VerificationFailure {
    fileprivate static func malformedCertificate(_ index: Int) -> VerificationFailure {
        VerificationFailure(.malformedCertificate, "certificate \(index + 1) of 3 is not a certificate in base64")
    }

    /// All of them in milliseconds since 1970.
    static func notValid(at date: Int64, within window: Range<Int64>) -> VerificationFailure {
        let window = "\(Timestamp.text(window.lowerBound)) to \(Timestamp.text(window.upperBound))"
        return VerificationFailure(.certificateNotValidAtDate, "at \(Timestamp.text(date)); valid \(window)")
    }
}
