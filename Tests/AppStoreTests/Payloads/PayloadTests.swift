import Base
import Testing

@testable import AppStore

struct PayloadTests {
    private func notification(_ text: String) -> NotificationPayload? {
        NotificationPayload(payload: Array(text.utf8))
    }

    private func notification(with member: String) -> NotificationPayload? {
        notification(#"{"notificationType":"T","notificationUUID":"U",\#(member)}"#)
    }

    @Test func `every documented type and subtype is known, others are kept`() {
        #expect(NotificationType.known.count == 23)
        #expect(NotificationSubtype.known.count == 19)
        let future = notification(#"{"notificationType":"MOON","subtype":"WAXING","notificationUUID":"U"}"#)
        #expect(future?.notificationType.rawValue == "MOON")
        #expect(future?.notificationType.isKnown == false)
        #expect(future?.subtype == NotificationSubtype(rawValue: "WAXING"))
        #expect(future?.subtype?.isKnown == false)
        #expect(NotificationType.didRenew.isKnown && NotificationSubtype.voluntary.isKnown)
    }

    @Test(arguments: [
        "{}", #"{"notificationType":"TEST"}"#, #"{"notificationUUID":"U"}"#,
        #"{"notificationType":"","notificationUUID":"U"}"#,
        #"{"notificationType":1,"notificationUUID":"U"}"#, #"{"notificationType":"T","notificationUUID":null}"#,
    ])
    func `without a type and a UUID it is no notification`(text: String) {
        #expect(notification(text) == nil)
    }

    @Test(
        arguments: [
            (#""data":{"bundleId":"b","environment":"Sandbox"}"#, "b", nil, "Sandbox"),
            (#""data":{"bundleId":"b","appAppleId":7,"environment":"Production"}"#, "b", 7, "Production"),
            (#""summary":{"bundleId":"s","appAppleId":7,"environment":"Sandbox"}"#, "s", 7, "Sandbox"),
            (#""appData":{"bundleId":"a","environment":"Sandbox"}"#, "a", nil, "Sandbox"),
            (#""externalPurchaseToken":{"externalPurchaseId":"SANDBOX_1","bundleId":"e"}"#, "e", nil, "Sandbox"),
            (
                #""externalPurchaseToken":{"externalPurchaseId":"1","bundleId":"e","appAppleId":7}"#, "e", 7,
                "Production"
            ),
            (#""externalPurchaseToken":{"bundleId":"e"}"#, "e", nil, "Production"),
            (#""moonData":{"bundleId":"m","environment":"Sandbox","x":[]}"#, "m", nil, "Sandbox"),
            (
                #""b":{"bundleId":"2","environment":"Sandbox"},"a":{"bundleId":"1","environment":"Sandbox"}"#, "1", nil,
                "Sandbox"
            ),
            (#""data":null,"moonData":{"bundleId":"m","environment":"Sandbox"}"#, "m", nil, "Sandbox"),
            (#""data":{"bundleId":"d"},"a":{"bundleId":"1","environment":"Sandbox"}"#, "d", nil, nil),
        ] as [(String, String, Int64?, String?)])
    func `the subject comes from the object that is there`(
        member: String, bundle: String, app: Int64?, environment: String?
    ) {
        let subject = notification(with: member)?.subject
        #expect(subject == NotificationSubject(bundleId: bundle, appAppleId: app, environment: environment))
    }

    @Test(arguments: [
        #""x":1"#, #""data":7"#, #""x":{"bundleId":"b"}"#, #""x":{"environment":"Sandbox"}"#,
        #""bundleId":"b","environment":"Sandbox""#,
    ])
    func `without such an object there is no subject`(member: String) throws {
        #expect(try #require(notification(with: member)).subject == nil)
    }

    @Test func `a member of an unexpected type counts as absent`() throws {
        let text =
            #"{"transactionId":7,"bundleId":null,"price":"9","isUpgraded":1,"quantity":true,"purchaseDate":[],"type":"T","commitmentInfo":5,"expiresDate":{}}"#
        let transaction = try #require(TransactionPayload(payload: Array(text.utf8)))
        #expect(transaction.transactionId == nil && transaction.bundleId == nil && transaction.price == nil)
        #expect(transaction.isUpgraded == nil && transaction.quantity == nil && transaction.purchaseDate == nil)
        #expect(transaction.commitmentInfo == nil && transaction.expiresDate == nil)
        #expect(transaction.type == "T")
    }

    @Test(
        arguments: [
            ("1697679936049.7297", 1_697_679_936_049), ("-62135769600000", -62_135_769_600_000), ("-1.5", -1),
            ("9223372036854775807", Int64.max), ("1e3", 1000), ("1e300", nil), ("9223372036854775808", nil),
            ("\"1\"", nil),
        ] as [(String, Int64?)])
    func `dates lose their fraction, and are absent when they are none`(number: String, expected: Int64?) {
        #expect(TransactionPayload(payload: Array(#"{"purchaseDate":\#(number)}"#.utf8))?.purchaseDate == expected)
    }

    @Test func `values that are not known are kept`() throws {
        let transaction = try #require(
            TransactionPayload(payload: Array(#"{"type":"Rental","offerType":99,"environment":"Moon"}"#.utf8)))
        #expect(transaction.type == "Rental" && transaction.offerType == 99 && transaction.environment == "Moon")
    }

    @Test(arguments: [
        (#"{"notificationType":"T"}"#, SignedDataKind.notification), (#"{"notificationUUID":"U"}"#, .notification),
        (#"{"receiptType":"Sandbox","bundleId":"b"}"#, .appTransaction),
        (#"{"transactionId":"1","bundleId":"b"}"#, .transaction),
        (#"{"bundleId":"b"}"#, .transaction), (#"{"originalTransactionId":"1","autoRenewStatus":1}"#, .renewal),
        (#"{"originalTransactionId":"1"}"#, .renewal), ("{}", nil), ("[]", nil), (#"{"environment":"Sandbox"}"#, nil),
    ])
    func `the kind is told by the members`(text: String, expected: SignedDataKind?) {
        #expect(SignedDataKind.detect(Array(text.utf8)) == expected)
    }

    /// https://developer.apple.com/documentation/retentionmessaging/decodedrealtimerequestbody
    @Test func `a request of Retention Messaging is no renewal info, though it has an original transaction id`() {
        let text = """
            {"originalTransactionId":"1","appAppleId":1,"productId":"p","userLocale":"en-US","requestIdentifier":"r",\
            "environment":"Sandbox","signedDate":1}
            """
        #expect(SignedDataKind.detect(Array(text.utf8)) == nil && SignedDataKind.isRealtimeRequest(Array(text.utf8)))
        #expect(!SignedDataKind.isRealtimeRequest(Array(#"{"originalTransactionId":"1"}"#.utf8)))
    }
}
