import Base
import Testing

@testable import AppStore

@Suite(.enabled(if: TestPKI.isAvailable, "skipped: there is no openssl program"))
struct SignedDataInspectorTests {
    private let pki = TestPKI.shared
    private var inspector: SignedDataInspector { SignedDataInspector(verifier: SignedDataVerifier(trust: pki.trust)) }

    private func notification(
        transaction: [UInt8]? = nil, renewal: [UInt8]? = nil, environment: JSON = "Sandbox"
    ) -> [UInt8] {
        pki.sign(
            SampleData.notification([
                "bundleId": "com.example.app", "environment": environment,
                "signedTransactionInfo": transaction.map(SampleData.text),
                "signedRenewalInfo": renewal.map(SampleData.text),
            ]))
    }

    @Test func `a notification is verified with what is signed inside it`() throws {
        let (transaction, renewal) = (SampleData.transaction(), SampleData.renewal())
        let jws = notification(transaction: pki.sign(transaction), renewal: pki.sign(renewal))
        let found = try inspector.inspect(jws).get()
        #expect(found.kind == .notification)
        #expect(found.notification?.notificationType == .didRenew)
        #expect(found.nested.transaction?.jws.payload == transaction.bytes)
        #expect(found.nested.transaction?.payload.transactionId == "2000")
        #expect(found.nested.renewal?.jws.payload == renewal.bytes)
        #expect(found.nested.appTransaction == nil)
    }

    @Test func `nested data that is not genuine, or of another app, makes the whole invalid`() {
        let forged = TestPKI.stranger
        let cases: [([UInt8], VerificationFailure.Reason, String)] = [
            (notification(transaction: forged.sign(SampleData.transaction())), .untrustedRoot, "signedTransactionInfo"),
            (notification(renewal: forged.sign(SampleData.renewal())), .untrustedRoot, "signedRenewalInfo"),
            (notification(transaction: Array("a.b.c".utf8)), .malformedJWS, "signedTransactionInfo"),
            (notification(transaction: []), .malformedJWS, "signedTransactionInfo"),
            (
                notification(transaction: pki.sign(SampleData.transaction(bundle: "com.example.other"))),
                .wrongBundleID, "signedTransactionInfo"
            ),
            (
                notification(transaction: pki.sign(SampleData.transaction(bundle: nil))), .wrongBundleID,
                "signedTransactionInfo"
            ),
            (
                notification(transaction: pki.sign(SampleData.transaction(environment: "Production"))),
                .wrongEnvironment, "signedTransactionInfo"
            ),
            (
                notification(renewal: pki.sign(SampleData.renewal(environment: "Production"))), .wrongEnvironment,
                "signedRenewalInfo"
            ),
            (
                notification(renewal: pki.sign(SampleData.renewal(environment: nil))), .wrongEnvironment,
                "signedRenewalInfo"
            ),
            (notification(renewal: pki.sign(.array([]))), .malformedPayload, "signedRenewalInfo"),
        ]
        for (jws, reason, member) in cases {
            let failure = inspector.inspect(jws).failure
            #expect(failure?.reason == reason)
            #expect(failure?.detail.hasPrefix(member) == true)
        }
    }

    @Test func `an app transaction inside is verified too`() throws {
        func rescind(_ appTransaction: [UInt8]) -> [UInt8] {
            pki.sign(
                SampleData.notification(
                    [
                        "bundleId": "com.example.app", "appAppleId": 7, "environment": "Production",
                        "signedAppTransactionInfo": SampleData.text(appTransaction),
                    ], member: "appData"))
        }
        func appTransaction(_ app: JSON, _ environment: JSON = "Production") -> [UInt8] {
            pki.sign(
                .object([
                    "bundleId": "com.example.app", "appAppleId": app, "receiptType": environment,
                    "receiptCreationDate": .int(SampleData.now),
                ]))
        }
        let found = try inspector.inspect(rescind(appTransaction(7))).get()
        #expect(found.nested.appTransaction?.payload.receiptType == "Production")
        #expect(inspector.inspect(rescind(appTransaction(8))).failure?.reason == .wrongAppleAppID)
        #expect(inspector.inspect(rescind(appTransaction(7, "Sandbox"))).failure?.reason == .wrongEnvironment)
        #expect(try inspector.inspect(appTransaction(7)).get().kind == .appTransaction)
    }

    @Test(arguments: ["Xcode", "LocalTesting"])
    func `data of development is refused whoever signed it`(environment: String) {
        #expect(inspector.inspect(notification(environment: .string(environment))).failure?.reason == .wrongEnvironment)
    }

    @Test func `a kind that was asked for must be there`() {
        let jws = notification()
        #expect(inspector.inspect(jws, as: .notification).failure == nil)
        #expect(
            inspector.inspect(jws, as: .transaction, for: Identity(bundleID: "com.example.app")).failure?.reason
                == .wrongBundleID)
        #expect(
            inspector.inspect(pki.sign(SampleData.transaction()), as: .notification).failure?.reason
                == .malformedPayload)
        #expect(
            inspector.inspect(pki.sign(.object(["signedDate": .int(SampleData.now)]))).failure?.reason
                == .malformedPayload)
        #expect(inspector.inspect(pki.sign(SampleData.transaction())).success?.kind == .transaction)
        #expect(inspector.inspect(pki.sign(SampleData.renewal())).success?.kind == .renewal)
    }

    @Test func `the date counts for what is inside as well`() {
        let jws = notification(transaction: pki.sign(SampleData.transaction()))
        let late = SampleData.now + 2 * SampleData.year
        #expect(inspector.inspect(jws, at: late).failure?.reason == .certificateNotValidAtDate)
    }
}
