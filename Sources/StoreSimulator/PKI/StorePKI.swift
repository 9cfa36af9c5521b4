import Base
import Crypto

/// A store's certificates, shaped as Apple's: a root and an intermediate on P-384, a leaf on P-256 that signs data,
/// the last two with Apple's marker extensions, and about as large. Only the leaf's key is kept.
package struct StorePKI: Sendable {
    /// "Apple Worldwide Developer Relations", on the intermediate.
    package static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    /// "Mac App Store receipt signing", on the leaf.
    package static let leafMarker = "1.2.840.113635.100.6.11.1"

    /// On Apple's leaves too, with a notice about as long as this one: certificates make up most of a notification.
    private static let policyIdentifier = "1.2.840.113635.100.5.6.1"
    private static let notice = """
        This certificate was made by storesim, the App Store for tests, demonstrations and benchmarks. Whoever relies on \
        it outside of them accepts that nobody checked anything, that its private key is no secret, and that whatever it \
        signed was made up. No store, no customer and no money stand behind it.
        """

    /// What a chain may lack, for tests of a verifier. The defaults lack nothing. Days are counted from now.
    package struct Options: Sendable {
        package var name = "Storesim"
        package var hasLeafMarker = true
        package var hasIntermediateMarker = true
        package var intermediateIsAuthority = true
        package var leafCurve = SigningKey.Curve.p256
        package var rootDays: ClosedRange<Int64> = -4000...8000
        package var intermediateDays: ClosedRange<Int64> = -1500...3000
        /// From before a simulated year until well after now.
        package var leafDays: ClosedRange<Int64> = -500...800

        package init() {}
    }

    /// A root with its key, to issue several chains under it. Never written to a file.
    package struct Authority: Sendable {
        package let certificate: CertificateIssuer.Certificate
        fileprivate let key: SigningKey
    }

    package let root: CertificateIssuer.Certificate
    package let intermediate: CertificateIssuer.Certificate
    package let leaf: CertificateIssuer.Certificate
    package let leafKey: SigningKey

    package init(
        root: CertificateIssuer.Certificate, intermediate: CertificateIssuer.Certificate,
        leaf: CertificateIssuer.Certificate, leafKey: SigningKey
    ) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
        self.leafKey = leafKey
    }

    /// A new root. `now` in milliseconds.
    package static func authority(_ options: Options = Options(), now: Int64) throws -> Authority {
        let key = try SigningKey.generate(.p384)
        let profile = CertificateIssuer.Profile(
            commonName: "\(options.name) Root CA", notBefore: day(options.rootDays.lowerBound, now),
            notAfter: day(options.rootDays.upperBound, now), isAuthority: true)
        return Authority(certificate: try CertificateIssuer.root(profile, key: key), key: key)
    }

    /// A new intermediate and leaf, under this root or under a new one. `now` in milliseconds.
    package static func generate(
        _ options: Options = Options(), under root: Authority? = nil, now: Int64
    ) throws -> StorePKI {
        let root = try root ?? authority(options, now: now)
        let intermediateKey = try SigningKey.generate(.p384)
        var authority = CertificateIssuer.Profile(
            commonName: "\(options.name) Store Authority", notBefore: day(options.intermediateDays.lowerBound, now),
            notAfter: day(options.intermediateDays.upperBound, now), isAuthority: options.intermediateIsAuthority,
            pathLength: options.intermediateIsAuthority ? 0 : nil,
            markers: options.hasIntermediateMarker ? [intermediateMarker] : [])
        authority.statusURL = "http://ocsp.storesim.invalid/root"
        authority.issuerURL = "http://certs.storesim.invalid/root.der"
        let intermediate = try CertificateIssuer.issue(
            authority, subject: intermediateKey, issuer: root.certificate, issuerKey: root.key)
        let leafKey = try SigningKey.generate(options.leafCurve)
        var signing = CertificateIssuer.Profile(
            commonName: "\(options.name) Receipt Signing", notBefore: day(options.leafDays.lowerBound, now),
            notAfter: day(options.leafDays.upperBound, now), markers: options.hasLeafMarker ? [leafMarker] : [])
        signing.statusURL = "http://ocsp.storesim.invalid/authority"
        signing.issuerURL = "http://certs.storesim.invalid/authority.der"
        signing.policy = (policyIdentifier, notice)
        let leaf = try CertificateIssuer.issue(
            signing, subject: leafKey, issuer: intermediate, issuerKey: intermediateKey)
        return StorePKI(root: root.certificate, intermediate: intermediate, leaf: leaf, leafKey: leafKey)
    }

    private static func day(_ days: Int64, _ now: Int64) -> Int64 {
        now &+ days &* 86_400_000
    }

    /// The certificates as the `x5c` header has them: leaf, intermediate, root.
    package var chain: [CertificateIssuer.Certificate] { [leaf, intermediate, root] }

    /// SHA-256 of the root in upper-case hex, as `trust.root_sha256` takes it.
    package var rootFingerprint: String { Hex.encode(root.fingerprint()).uppercased() }
}
