import Base
import Crypto
import TestSupport

@testable import AppStore

/// Three certificates like Apple's with any dates, markers and path lengths, and the key of the leaf.
struct MintedChain: Sendable {
    static let leafMarker = "1.2.840.113635.100.6.11.1"
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    /// 2025-01-01, milliseconds; all certificates are valid around it unless a plan says otherwise.
    static let date: Int64 = 1_735_689_600_000
    static let day: Int64 = 86_400_000

    /// What the certificates say. Dates are days from `date`.
    struct Plan {
        var leafDays: Range<Int64> = -100..<300
        var intermediateDays: Range<Int64> = -1000..<2000
        var rootDays: Range<Int64> = -2000..<4000
        var leafMarkers = [MintedChain.leafMarker]
        var intermediateMarkers = [MintedChain.intermediateMarker]
        var rootPathLength: Int?
        var intermediatePathLength: Int? = 0
        var intermediateIsAuthority = true
        var leafCurve = SigningKey.Curve.p256
        var leafSignsItself = false
        /// A second authority between the intermediate and the leaf; it is then the second certificate of the header.
        var hasMiddle = false
    }

    let certificates: [[UInt8]]
    /// The authority that a middle one was issued by, else the intermediate itself.
    let upper: [UInt8]
    let key: SigningKey

    /// - Parameter root: the key of the root, to make another chain below the same name and key.
    init(root rootKey: SigningKey? = nil, _ change: (inout Plan) -> Void = { _ in }) throws {
        var plan = Plan()
        change(&plan)
        let (rootKey, upperKey) = (try rootKey ?? .generate(.p384), try SigningKey.generate(.p384))
        key = try .generate(plan.leafCurve)
        var profile = MintedChain.profile("Root", plan.rootDays, authority: true)
        profile.pathLength = plan.rootPathLength
        let root = try CertificateIssuer.root(profile, key: rootKey)
        profile = MintedChain.profile("Authority", plan.intermediateDays, authority: plan.intermediateIsAuthority)
        (profile.pathLength, profile.markers) = (plan.intermediatePathLength, plan.intermediateMarkers)
        let intermediate = try CertificateIssuer.issue(
            profile, subject: upperKey, issuer: root, issuerKey: rootKey)
        var (issuer, issuerKey) = (intermediate, upperKey)
        if plan.hasMiddle {
            issuerKey = try .generate(.p384)
            profile.commonName = "Middle"
            issuer = try CertificateIssuer.issue(profile, subject: issuerKey, issuer: intermediate, issuerKey: upperKey)
        }
        profile = MintedChain.profile("Signing", plan.leafDays, authority: false)
        profile.markers = plan.leafMarkers
        let leaf =
            plan.leafSignsItself
            ? try CertificateIssuer.root(profile, key: key)
            : try CertificateIssuer.issue(profile, subject: key, issuer: issuer, issuerKey: issuerKey)
        certificates = [leaf.der, issuer.der, root.der]
        upper = intermediate.der
    }

    private static func profile(
        _ name: String, _ days: Range<Int64>, authority: Bool
    ) -> CertificateIssuer.Profile {
        CertificateIssuer.Profile(
            commonName: "Minted \(name)", notBefore: date + days.lowerBound * day,
            notAfter: date + days.upperBound * day, isAuthority: authority)
    }

    var trust: TrustAnchors { TrustAnchors(fingerprints: [Digest.sha256(certificates[2])]) }
    var trustByFile: TrustAnchors {
        TrustAnchors(certificates: Certificate(der: certificates[2]).map { [$0] } ?? [])
    }

    static func payload(signedDate: Int64? = date) -> JSON {
        .object([
            "bundleId": "com.example.app", "environment": "Sandbox", "transactionId": "1",
            "signedDate": signedDate.map { .int($0) },
        ])
    }

    /// The header that Apple would send.
    var header: [UInt8] { MintedChain.header(certificates.map { Base64.encode($0) }) }

    static func header(_ texts: [String], algorithm: String = "ES256") -> [UInt8] {
        JSON.object(["alg": .string(algorithm), "x5c": .strings(texts)]).bytes
    }

    func sign(_ payload: JSON = payload(), header: [UInt8]? = nil) throws -> [UInt8] {
        let signed = Base64.encodeURL(header ?? self.header) + "." + Base64.encodeURL(payload.bytes)
        // A key on another curve signs nothing that ES256 could mean: any 64 bytes will do.
        let signature = key.curve == .p256 ? try key.signES256(Array(signed.utf8)) : Array(repeating: 7, count: 64)
        return Array((signed + "." + Base64.encodeURL(signature)).utf8)
    }

    func reason(_ jws: [UInt8]) -> VerificationFailure.Reason? {
        SignedDataVerifier(trust: trust, clock: ManualClock(MintedChain.date)).verify(jws).failure?.reason
    }
}
