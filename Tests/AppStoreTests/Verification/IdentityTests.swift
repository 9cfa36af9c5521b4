import Base
import Testing

@testable import AppStore

struct IdentityTests {
    private typealias Reason = VerificationFailure.Reason

    private func subject(
        _ bundle: String? = "b", _ app: Int64? = 7, _ environment: String? = "Production"
    ) -> NotificationSubject {
        NotificationSubject(bundleId: bundle, appAppleId: app, environment: environment)
    }

    @Test func `what is asked for must be there, in the order of the reasons`() {
        let identity = Identity(bundleID: "b", appleAppID: 7, environments: [.production])
        let cases: [(NotificationSubject?, Reason?)] = [
            (subject(), nil), (subject("c"), .wrongBundleID), (subject(nil), .wrongBundleID), (nil, .wrongBundleID),
            (subject("B"), .wrongBundleID), (subject("c", 8, "Moon"), .wrongBundleID),
            (subject("b", 8), .wrongAppleAppID),
            (subject("b", nil), .wrongAppleAppID), (subject("b", 8, "Sandbox"), .wrongAppleAppID),
            (subject("b", 7, "Sandbox"), .wrongEnvironment),
            (subject("b", 7, nil), .wrongEnvironment), (subject("b", 7, "production"), .wrongEnvironment),
        ]
        for (subject, expected) in cases {
            #expect(identity.mismatch(with: subject)?.reason == expected)
        }
    }

    @Test func `the app id counts in production only`() {
        let identity = Identity(appleAppID: 7)
        #expect(identity.mismatch(with: subject("b", 8, "Sandbox")) == nil)
        #expect(identity.mismatch(with: subject("b", nil, "Sandbox")) == nil)
        #expect(identity.mismatch(with: subject("b", 8, "Production"))?.reason == .wrongAppleAppID)
    }

    @Test(arguments: ["Xcode", "LocalTesting", "", "sandbox", nil])
    func `other environments are never allowed`(environment: String?) {
        #expect(Identity().mismatch(with: subject("b", 7, environment))?.reason == .wrongEnvironment)
    }

    @Test func `transactions have no app id, renewal infos no bundle id either`() throws {
        let identity = Identity(bundleID: "b", appleAppID: 7, environments: [.production])
        let text = Array(#"{"bundleId":"c","environment":"Production"}"#.utf8)
        let transaction = try #require(TransactionPayload(payload: text))
        let renewal = try #require(RenewalInfoPayload(payload: text))
        #expect(identity.mismatch(with: transaction)?.reason == .wrongBundleID)
        #expect(Identity(appleAppID: 7).mismatch(with: transaction) == nil)
        #expect(identity.mismatch(with: renewal) == nil)
        #expect(Identity(environments: [.sandbox]).mismatch(with: renewal)?.reason == .wrongEnvironment)
    }

    @Test func `the environment of an app transaction is its receipt type`() throws {
        let text = Array(#"{"bundleId":"b","appAppleId":8,"receiptType":"Production"}"#.utf8)
        let payload = try #require(AppTransactionPayload(payload: text))
        #expect(Identity(bundleID: "b").mismatch(with: payload) == nil)
        #expect(Identity(appleAppID: 7).mismatch(with: payload)?.reason == .wrongAppleAppID)
        #expect(Identity(environments: [.sandbox]).mismatch(with: payload)?.reason == .wrongEnvironment)
    }
}
