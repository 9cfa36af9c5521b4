import AppStore
import Base
import Testing

@testable import StoreSimulator

/// The simulator and the verifier share no code: where they agree, both read Apple's documents the same way.
@Suite struct VerifierAgreementTests {
    private static func inspector(_ pki: StorePKI) throws -> SignedDataInspector {
        let fingerprint = try #require(Hex.decode(pki.rootFingerprint))
        return SignedDataInspector(verifier: SignedDataVerifier(trust: TrustAnchors(fingerprints: [fingerprint])))
    }

    private static func jws(_ body: [UInt8]) throws -> [UInt8] {
        Array(try #require(try JSON(parsing: body)["signedPayload"]?.stringValue).utf8)
    }

    @Test(arguments: [("Sandbox", StoreEnvironment.sandbox), ("Production", .production)])
    func `every kind verifies, with what is nested`(name: String, environment: StoreEnvironment) throws {
        let pki = try SigningTests.pki.get()
        let inspector = try VerifierAgreementTests.inspector(pki)
        let app = StoreApp(environment: name)
        let identity = Identity(bundleID: app.bundleID, appleAppID: app.appleAppID, environments: [environment])
        let signer = NotificationSigner(pki)
        for told in EveryNotificationType.notifications(app: app, seed: 2, until: testNow) {
            let jws = try VerifierAgreementTests.jws(try signer.sign(told).body)
            let seen = try inspector.inspect(jws, as: .notification, for: identity).get()
            #expect(seen.notification?.notificationUUID == told.uuid)
            #expect((seen.nested.transaction != nil) == (told.transaction != nil))
            #expect((seen.nested.renewal != nil) == (told.renewal != nil))
            #expect((seen.nested.appTransaction != nil) == (told.type == "RESCIND_CONSENT"))
        }
    }

    @Test(arguments: [
        ("leaf marker", "missing_leaf_oid"), ("intermediate marker", "missing_intermediate_oid"),
        ("authority", "bad_chain"), ("dates", "certificate_not_valid_at_date"), ("root", "untrusted_root"),
    ])
    func `each flaw is found`(flaw: String, reason: String) throws {
        let root = try StorePKI.authority(now: testNow)
        var options = StorePKI.Options()
        switch flaw {
        case "leaf marker": options.hasLeafMarker = false
        case "intermediate marker": options.hasIntermediateMarker = false
        case "authority": options.intermediateIsAuthority = false
        case "dates": options.leafDays = -90 ... -30
        default: break
        }
        let flawed = try StorePKI.generate(options, under: flaw == "root" ? nil : root, now: testNow)
        let good = try StorePKI.generate(under: root, now: testNow)
        let inspector = try VerifierAgreementTests.inspector(good)
        var life = SubscriberLife(seed: 1)
        let started = life.start(at: testNow)
        let refused = inspector.inspect(
            try VerifierAgreementTests.jws(try NotificationSigner(flawed).sign(started).body))
        guard case .failure(let failure) = refused else {
            Issue.record("it was accepted")
            return
        }
        #expect(failure.reason.rawValue == reason)
        _ = try inspector.inspect(try VerifierAgreementTests.jws(try NotificationSigner(good).sign(started).body)).get()
    }
}
