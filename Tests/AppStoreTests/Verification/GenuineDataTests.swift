import Base
import Crypto
import Testing

@testable import AppStore

/// What Apple signed, and what Apple tests its own libraries with.
@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct GenuineDataTests {
    private static let files = TestData.names("apple-signed", suffix: ".jws")
    private static let verifier = SignedDataVerifier(trust: .apple)

    @Test(arguments: files)
    func `everything that Apple signed is genuine`(file: String) throws {
        let jws = TestData.bytes("apple-signed/\(file)")
        let found = try SignedDataInspector(verifier: Self.verifier).inspect(jws).get()
        let kinds: [Character: SignedDataKind] = ["n": .notification, "t": .transaction, "r": .renewal]
        #expect(found.kind == file.first.flatMap { kinds[$0] })
        #expect(found.notification.map { $0.notificationType.isKnown } != false)
        #expect(found.notification?.data?.signedTransactionInfo == nil || found.nested.transaction != nil)
        #expect(found.notification?.data?.signedRenewalInfo == nil || found.nested.renewal != nil)
        #expect(found.outer.certificates.count == 3)
        #expect(found.nested.transaction?.payload.unreadable ?? [] == [])
    }

    @Test(arguments: files)
    func `a changed byte of what Apple signed is noticed`(file: String) {
        var random = SeededGenerator(state: 11)
        let jws = TestData.bytes("apple-signed/\(file)")
        for _ in 0..<50 {
            let place = Int.random(in: 0..<jws.count, using: &random)
            var changed = jws
            changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Self.verifier.verify(changed).failure != nil)
        }
    }

    private var mockInspector: SignedDataInspector {
        let root = CertificateFile.certificates(in: TestData.bytes("apple-test/certs/testCA.der"))
        return SignedDataInspector(verifier: SignedDataVerifier(trust: TrustAnchors(certificates: root ?? [])))
    }

    @Test(
        arguments: [
            ("testNotification", nil, Identity(bundleID: "com.example", environments: [.sandbox]), nil),
            (
                "testNotification", nil,
                Identity(bundleID: "com.example", appleAppID: 1234, environments: [.production]), .wrongEnvironment
            ),
            ("testNotification", .transaction, Identity(bundleID: "com.example"), .wrongBundleID),
            ("transactionInfo", .transaction, Identity(bundleID: "com.example"), nil),
            ("transactionInfo", .transaction, Identity(bundleID: "com.example.x"), .wrongBundleID),
            ("renewalInfo", .renewal, Identity(environments: [.sandbox]), nil),
            ("wrongBundleId", .notification, Identity(bundleID: "com.example"), .wrongBundleID),
            ("missingX5CHeaderClaim", nil, Identity(), .chainLength),
            ("legacyTransaction", nil, Identity(), .malformedJWS),
        ] as [(String, SignedDataKind?, Identity, VerificationFailure.Reason?)])
    func `Apple's mock data has the outcome that Apple's libraries have`(
        file: String, kind: SignedDataKind?, identity: Identity, expected: VerificationFailure.Reason?
    ) {
        let jws = RequestBody.jws(inFile: TestData.bytes("apple-test/mock_signed_data/\(file)"))
        #expect(mockInspector.inspect(jws, as: kind, for: identity).failure?.reason == expected)
    }

    @Test(arguments: ["xcode-signed-transaction", "xcode-signed-renewal-info", "xcode-signed-app-transaction"])
    func `data of Xcode is refused`(file: String) {
        let jws = RequestBody.jws(inFile: TestData.bytes("apple-test/xcode/\(file)"))
        #expect(mockInspector.inspect(jws).failure?.reason == .chainLength)
    }

    /// Nobody has the keys: a good chain shows itself by the signature as the reason.
    @Test(
        arguments: [
            ("LEAF_CERT", "INTERMEDIATE_CA", 1_761_962_975_000, VerificationFailure.Reason.badSignature),
            (
                "LEAF_CERT_FOR_INTERMEDIATE_CA_INVALID_OID", "INTERMEDIATE_CA_INVALID_OID", 1_761_962_975_000,
                .missingIntermediateOID
            ),
            ("LEAF_CERT_INVALID_OID", "INTERMEDIATE_CA", 1_761_962_975_000, .missingLeafOID),
            ("LEAF_CERT", "INTERMEDIATE_CA", 2_280_946_846_000, .certificateNotValidAtDate),
        ] as [(String, String, Int64, VerificationFailure.Reason)])
    func `Apple's test chains have the outcome that Apple's libraries have`(
        leaf: String, intermediate: String, date: Int64, expected: VerificationFailure.Reason
    ) {
        let chain = [leaf, intermediate, "ROOT_CA"].map {
            TestData.bytes("apple-test/embedded-certs/\($0)_BASE64_ENCODED.der")
        }
        let header = JSON.object(["alg": "ES256", "x5c": TestPKI.x5c(chain)])
        let signature = Base64.encodeURL(Array(repeating: 0x11, count: 64))
        let jws = Array("\(Base64.encodeURL(header.bytes)).e30.\(signature)".utf8)
        #expect(mockInspector.inspect(jws, at: date).failure?.reason == expected)
        #expect(Self.verifier.verify(jws, at: date).failure?.reason == .untrustedRoot)
    }

    @Test func `Apple's models are decoded`() throws {
        func model<Payload: WirePayload>(_ name: String) throws -> Payload {
            try #require(Payload(payload: TestData.bytes("apple-test/models/\(name).json")))
        }
        let notification: NotificationPayload = try model("signedNotification")
        #expect(notification.notificationType == .subscribed && notification.subtype == .initialBuy)
        #expect(notification.data?.status == 1 && notification.data?.consumptionRequestReason == nil)
        let consumption: NotificationPayload = try model("signedConsumptionRequestNotification")
        #expect(consumption.data?.consumptionRequestReason == "UNINTENDED_PURCHASE")
        let summary: NotificationPayload = try model("signedSummaryNotification")
        #expect(summary.summary?.storefrontCountryCodes == ["CAN", "USA", "MEX"])
        #expect(summary.summary?.succeededCount == 5 && summary.summary?.failedCount == 2)
        let token: NotificationPayload = try model("signedExternalPurchaseTokenNotification")
        #expect(token.subject?.environment == "Production" && token.subject?.appAppleId == 55555)
        let sandboxToken: NotificationPayload = try model("signedExternalPurchaseTokenSandboxNotification")
        #expect(sandboxToken.subject?.environment == "Sandbox")
        let rescind: NotificationPayload = try model("signedRescindConsentNotification")
        #expect(rescind.appData?.signedAppTransactionInfo != nil && rescind.data == nil)
        let revoked: TransactionPayload = try model("signedTransactionWithRevocation")
        #expect(revoked.revocationType == "REFUND_PRORATED" && revoked.revocationPercentage == 50000)
        let appTransaction: AppTransactionPayload = try model("appTransaction")
        #expect(appTransaction.bundleId != nil && appTransaction.receiptCreationDate != nil)
    }

    /// A mirror of the struct against the file: a misspelled member would be nil.
    @Test func `no member of Apple's transactions and renewal infos is missed`() throws {
        let transaction = try #require(
            TransactionPayload(payload: TestData.bytes("apple-test/models/signedTransaction.json")))
        let renewal = try #require(
            RenewalInfoPayload(payload: TestData.bytes("apple-test/models/signedRenewalInfo.json")))
        for (payload, file) in [(transaction as Any, "signedTransaction"), (renewal as Any, "signedRenewalInfo")] {
            let json = try JSON(parsing: TestData.bytes("apple-test/models/\(file).json"))
            let read = Mirror(reflecting: payload).children.compactMap { child -> String? in
                if case Optional<Any>.none = child.value { nil } else { child.label }
            }
            let sent = Set((json.members ?? []).map(\.name)).subtracting(["advancedCommerceInfo"])
            #expect(sent.subtracting(read) == [])
        }
    }
}
