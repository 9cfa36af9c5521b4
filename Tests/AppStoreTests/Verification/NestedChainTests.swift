import Base
import Crypto
import TestSupport
import Testing

@testable import AppStore

/// What is signed inside a notification stands for itself: by whom, and for which app.
struct NestedChainTests {
    private typealias Reason = VerificationFailure.Reason

    private let chain: MintedChain
    private let verifier: SignedDataVerifier

    init() throws {
        chain = try MintedChain()
        verifier = SignedDataVerifier(trust: chain.trust, clock: ManualClock(MintedChain.date))
    }

    private func transaction(_ bundle: JSON = "com.example.app", _ environment: JSON = "Sandbox") -> JSON {
        .object([
            "transactionId": "1", "bundleId": bundle, "environment": environment, "signedDate": .int(MintedChain.date),
        ])
    }

    private func notification(_ transaction: [UInt8], member: String = "signedTransactionInfo") throws -> [UInt8] {
        let data = JSON.object([
            .init(name: "bundleId", value: "com.example.app"), .init(name: "environment", value: "Sandbox"),
            .init(name: member, value: SampleData.text(transaction)),
        ])
        return try chain.sign(
            .object([
                "notificationType": "DID_RENEW", "notificationUUID": "u", "data": data,
                "signedDate": .int(MintedChain.date),
            ]))
    }

    private func reason(_ jws: [UInt8]) -> Reason? {
        SignedDataInspector(verifier: verifier).inspect(jws, for: Identity(bundleID: "com.example.app")).failure?.reason
    }

    @Test func `another chain inside is judged by itself`() throws {
        let (stranger, expired) = (try MintedChain(), try MintedChain { $0.leafDays = -20..<(-10) })
        let both = TrustAnchors(fingerprints: [chain, stranger].map { Digest.sha256($0.certificates[2]) })
        let jws = try notification(try stranger.sign(transaction()))
        #expect(reason(try notification(try chain.sign(transaction()))) == nil)
        #expect(reason(jws) == .untrustedRoot)
        #expect(reason(try notification(try expired.sign(transaction()))) == .untrustedRoot)
        // A rotation of leaves may fall between the two signatures.
        #expect(SignedDataInspector(verifier: SignedDataVerifier(trust: both)).inspect(jws).failure == nil)
    }

    @Test func `the outer header does not vouch for what is inside`() throws {
        let stranger = try MintedChain()
        // The genuine chain is known from the outer JWS by the time that the inner one is read.
        #expect(reason(try notification(try stranger.sign(transaction(), header: chain.header))) == .badSignature)
        var below = chain.certificates
        below[0] = stranger.certificates[0]
        let header = MintedChain.header(below.map { Base64.encode($0) })
        #expect(reason(try notification(try stranger.sign(transaction(), header: header))) == .badChain)
    }

    @Test func `another app or environment inside is refused`() throws {
        for (payload, expected) in [
            (transaction("com.example.other"), Reason.wrongBundleID), (transaction("COM.example.app"), .wrongBundleID),
            (transaction(.null), .wrongBundleID), (transaction("com.example.app", "Production"), .wrongEnvironment),
            (transaction("com.example.app", "Xcode"), .wrongEnvironment),
            (transaction("com.example.app", .null), .wrongEnvironment),
        ] {
            #expect(reason(try notification(try chain.sign(payload))) == expected)
        }
    }

    @Test func `a notification inside a notification is no transaction`() throws {
        let inner = try notification(try chain.sign(transaction()))
        #expect(reason(try notification(inner)) == .wrongBundleID)
    }
}
