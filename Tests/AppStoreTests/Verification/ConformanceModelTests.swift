import Base
import Crypto
import Testing

@testable import AppStore

/// What Xcode signed for tests on a developer's own machine: read as Apple's libraries read it, and never accepted.
@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct XcodeSignedData {
    private static let bundle = "com.example.naturelab.backyardbirds.example"

    private func jws(_ name: String) -> [UInt8] { RequestBody.jws(inFile: TestData.bytes("apple-test/xcode/\(name)")) }

    private func check(_ jws: [UInt8], _ kind: SignedDataKind, _ function: String = #function) {
        for trust in [TrustAnchors.apple, Conformance.trust(TestData.bytes("apple-test/certs/testCA.der"))] {
            let inspector = SignedDataInspector(verifier: SignedDataVerifier(trust: trust))
            let found = inspector.inspect(jws, as: kind, for: Identity(bundleID: Self.bundle))
            #expect(Conformance.answer(found) == ConformanceTable.answer("XcodeSignedData", function))
        }
    }

    private func payload<Payload: WirePayload>(_ jws: [UInt8]) throws -> Payload {
        try #require(Payload(payload: try CompactJWS(jws).payload))
    }

    @Test func test_xcode_signed_app_transaction() throws {
        let jws = jws("xcode-signed-app-transaction")
        check(jws, .appTransaction)
        let found: AppTransactionPayload = try payload(jws)
        #expect(found.appAppleId == nil && found.bundleId == Self.bundle && found.applicationVersion == "1")
        #expect(found.originalPurchaseDate == -62_135_769_600_000 && found.originalApplicationVersion == "1")
        #expect(found.receiptCreationDate == 1_697_680_122_257 && found.receiptType == "Xcode")
        #expect(found.deviceVerificationNonce == "48c8b92d-ce0d-4229-bedf-e61b4f9cfc92" && found.preorderDate == nil)
    }

    @Test func test_xcode_signed_transaction() throws {
        let jws = jws("xcode-signed-transaction")
        check(jws, .transaction)
        let found: TransactionPayload = try payload(jws)
        #expect(found.originalTransactionId == "0" && found.transactionId == "0" && found.webOrderLineItemId == "0")
        #expect(found.productId == "pass.premium" && found.subscriptionGroupIdentifier == "6F3A93AB")
        #expect(found.purchaseDate == 1_697_679_936_049 && found.originalPurchaseDate == 1_697_679_936_049)
        #expect(found.expiresDate == 1_700_358_336_049 && found.signedDate == 1_697_679_936_056)
        #expect(found.quantity == 1 && found.type == "Auto-Renewable Subscription" && found.offerType == 1)
        #expect(found.isUpgraded == false && found.revocationDate == nil && found.appAccountToken == nil)
        #expect(found.storefront == "USA" && found.storefrontId == "143441" && found.transactionReason == "PURCHASE")
    }

    @Test func test_xcode_signed_renewal_info() throws {
        let jws = jws("xcode-signed-renewal-info")
        check(jws, .renewal)
        let found: RenewalInfoPayload = try payload(jws)
        #expect(found.originalTransactionId == "0" && found.autoRenewStatus == 1 && found.expirationIntent == nil)
        #expect(found.autoRenewProductId == "pass.premium" && found.productId == "pass.premium")
        #expect(found.isInBillingRetryPeriod == nil && found.gracePeriodExpiresDate == nil)
        #expect(found.signedDate == 1_697_679_936_711 && found.renewalDate == 1_700_358_336_049)
        #expect(found.recentSubscriptionStartDate == 1_697_679_936_049 && found.environment == "Xcode")
    }

    @Test func test_xcode_signed_app_transaction_with_production_environment() {
        check(jws("xcode-signed-app-transaction"), .appTransaction)
    }
}

/// Apple's models: read as Apple's libraries read them. Under a genuine chain those of local tests are refused.
@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct DecodedPayloads {
    private func model<Payload: WirePayload>(
        _ name: String, refused: VerificationFailure.Reason? = .wrongEnvironment, _ function: String = #function
    ) throws -> Payload {
        #expect(ConformanceTable.answer("DecodedPayloads", function) == .decoded)
        let bytes = TestData.bytes("apple-test/models/\(name).json")
        let chain = try MintedChain()
        let inspector = SignedDataInspector(verifier: SignedDataVerifier(trust: chain.trust))
        let found = inspector.inspect(try chain.sign(.raw(bytes)), at: MintedChain.date)
        #expect(found.failure?.reason == refused)
        return try #require(Payload(payload: bytes))
    }

    @Test func test_app_transaction_decoding() throws {
        let found: AppTransactionPayload = try model("appTransaction")
        #expect(found.receiptType == "LocalTesting" && found.appAppleId == 531412 && found.bundleId == "com.example")
        #expect(found.applicationVersion == "1.2.3" && found.versionExternalIdentifier == 512)
        #expect(found.receiptCreationDate == 1_698_148_900_000 && found.originalPurchaseDate == 1_698_148_800_000)
        #expect(found.originalApplicationVersion == "1.1.2" && found.preorderDate == 1_698_148_700_000)
        #expect(found.deviceVerification == "device_verification_value")
        #expect(found.deviceVerificationNonce == "48ccfa42-7431-4f22-9908-7e88983e105a")
    }

    @Test func test_transaction_decoding() throws {
        let found: TransactionPayload = try model("signedTransaction")
        #expect(found.originalTransactionId == "12345" && found.transactionId == "23456")
        #expect(found.webOrderLineItemId == "34343" && found.bundleId == "com.example")
        #expect(found.productId == "com.example.product" && found.subscriptionGroupIdentifier == "55555")
        #expect(found.originalPurchaseDate == 1_698_148_800_000 && found.purchaseDate == 1_698_148_900_000)
        #expect(found.revocationDate == 1_698_148_950_000 && found.expiresDate == 1_698_149_000_000)
        #expect(found.quantity == 1 && found.type == "Auto-Renewable Subscription" && found.isUpgraded == true)
        #expect(found.appAccountToken == "7e3fb20b-4cdb-47cc-936d-99d65f608138" && found.revocationReason == 1)
        #expect(found.inAppOwnershipType == "PURCHASED" && found.signedDate == 1_698_148_900_000)
        #expect(found.offerIdentifier == "abc.123" && found.offerType == 1 && found.storefront == "USA")
        #expect(found.storefrontId == "143441" && found.transactionReason == "PURCHASE" && found.price == 10990)
        #expect(found.currency == "USD" && found.offerDiscountType == "PAY_AS_YOU_GO")
    }

    @Test func test_transaction_with_revocation_decoding() throws {
        let found: TransactionPayload = try model("signedTransactionWithRevocation")
        #expect(found.revocationType == "REFUND_PRORATED" && found.revocationPercentage == 50_000)
    }

    @Test func test_renewal_info_decoding() throws {
        let found: RenewalInfoPayload = try model("signedRenewalInfo")
        #expect(found.expirationIntent == 1 && found.originalTransactionId == "12345" && found.autoRenewStatus == 1)
        #expect(found.autoRenewProductId == "com.example.product.2" && found.productId == "com.example.product")
        #expect(found.isInBillingRetryPeriod == true && found.priceIncreaseStatus == 0 && found.offerType == 2)
        #expect(found.gracePeriodExpiresDate == 1_698_148_900_000 && found.offerIdentifier == "abc.123")
        #expect(found.signedDate == 1_698_148_800_000 && found.renewalDate == 1_698_148_850_000)
        #expect(found.recentSubscriptionStartDate == 1_698_148_800_000 && found.environment == "LocalTesting")
    }

    @Test func test_notification_decoding() throws {
        let found: NotificationPayload = try model("signedNotification")
        #expect(found.notificationType == .subscribed && found.subtype == .initialBuy && found.version == "2.0")
        #expect(found.notificationUUID == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        #expect(found.signedDate == 1_698_148_900_000 && found.summary == nil && found.externalPurchaseToken == nil)
        #expect(found.data?.environment == "LocalTesting" && found.data?.appAppleId == 41234)
        #expect(found.data?.bundleId == "com.example" && found.data?.bundleVersion == "1.2.3")
        #expect(found.data?.signedTransactionInfo == "signed_transaction_info_value" && found.data?.status == 1)
        #expect(found.data?.signedRenewalInfo == "signed_renewal_info_value")
        #expect(found.data?.consumptionRequestReason == nil)
    }

    @Test func test_consumption_request_notification_decoding() throws {
        let found: NotificationPayload = try model("signedConsumptionRequestNotification")
        #expect(found.data?.consumptionRequestReason == "UNINTENDED_PURCHASE")
    }

    @Test func test_summary_notification_decoding() throws {
        let found: NotificationPayload = try model("signedSummaryNotification")
        #expect(found.data == nil && found.subject?.appAppleId == 41234 && found.subject?.bundleId == "com.example")
        #expect(found.summary?.storefrontCountryCodes == ["CAN", "USA", "MEX"])
        #expect(found.summary?.succeededCount == 5 && found.summary?.failedCount == 2)
    }

    /// The environment follows from the token: the only models that a server may get.
    @Test func test_external_purchase_token_notification_decoding() throws {
        let found: NotificationPayload = try model("signedExternalPurchaseTokenNotification", refused: nil)
        #expect(found.subject?.environment == "Production" && found.subject?.appAppleId == 55555)
        #expect(found.externalPurchaseToken?.externalPurchaseId == "b2158121-7af9-49d4-9561-1f588205523e")
        #expect(found.externalPurchaseToken?.tokenCreationDate == 1_698_148_950_000 && found.data == nil)
    }

    @Test func test_external_purchase_token_sandbox_notification_decoding() throws {
        let found: NotificationPayload = try model("signedExternalPurchaseTokenSandboxNotification", refused: nil)
        #expect(found.subject?.environment == "Sandbox" && found.subject?.bundleId == "com.example")
    }

    @Test func test_rescind_consent_notification_decoding() throws {
        let found: NotificationPayload = try model("signedRescindConsentNotification")
        #expect(found.appData?.signedAppTransactionInfo != nil && found.data == nil && found.summary == nil)
    }
}
