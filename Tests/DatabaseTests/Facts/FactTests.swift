import AppStore
import Base
import Crypto
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

@Suite struct FactTests {
    private let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "2000000000000001")
    private let header = Array("eyJhbGciOiJFUzI1NiJ9".utf8)

    private func transaction(signed: Int64 = 1_790_000_000_000, price: Int64 = 9990) -> FactRow {
        let payload = """
            {"transactionId":"2000000000000001","originalTransactionId":"2000000000000001",\
            "webOrderLineItemId":"77","productId":"pro_monthly","purchaseDate":1789000000000,\
            "expiresDate":1791000000000,"type":"Auto-Renewable Subscription","signedDate":\(signed),\
            "price":\(price),"currency":"EUR","unheardOf":{"a":[1,2]}}
            """
        return FactRow(
            kind: .transaction, signedDate: signed, header: header, signature: [UInt8](repeating: 5, count: 64),
            payload: Array(payload.utf8))
    }

    private var renewal: FactRow {
        let payload = """
            {"originalTransactionId":"2000000000000001","autoRenewProductId":"pro_monthly","autoRenewStatus":0,\
            "signedDate":1790000000001}
            """
        return FactRow(
            kind: .renewal, signedDate: 1_790_000_000_001, header: header, signature: [6], payload: Array(payload.utf8))
    }

    private var notification: FactRow {
        let fact = NotificationFact(
            uuid: "u-1", type: "DID_RENEW", subtype: nil, status: 1, signedDate: 1_790_000_000_002)
        return FactRow(
            kind: .notification, signedDate: 1_790_000_000_002, header: nil, signature: nil, payload: fact.payload)
    }

    @Test func `a row stands for no signature with members that it lacks, and for all that devices make`() throws {
        func again(_ change: (old: String, new: String)) throws -> TransactionFact {
            let payload = Array(
                String(decoding: transaction(signed: 1_790_000_000_777).payload, as: UTF8.self)
                    .replacing(change.old, with: change.new).utf8)
            return try #require(TransactionPayload(payload: payload).flatMap { TransactionFact($0, tie: payload) })
        }
        var facts = PurchaseFacts()
        transaction().insert(into: &facts)
        #expect(facts.addition(of: try again(("x", "x"))) == .signature(of: transaction().id))
        let ofDevice = #","deviceVerification":"a","deviceVerificationNonce":"b""#
        #expect(
            facts.addition(of: try again((",\"unheardOf", ofDevice + ",\"unheardOf")))
                == .signature(of: transaction().id))
        #expect(facts.addition(of: try again((",\"unheardOf", ",\"new\":1,\"unheardOf"))) == .news)
        #expect(facts.addition(of: try again(("9990", "1"))) == .news)
    }

    @Test func `how a row came is not changed by what it stands for as well`() {
        var (rows, kept) = (KnownFacts(), KnownFacts())
        let first = transaction()
        let again = transaction(signed: 1_790_000_000_777)
        kept.note(first, NotificationOrigin(seq: 5, source: .store), in: .sandbox)
        kept.note(again, NotificationOrigin(seq: 9, source: .posted), in: .sandbox, as: first.id)
        rows.note(
            FactRow(
                kind: .transaction, signedDate: first.signedDate, header: nil, signature: nil, payload: first.payload,
                again: [again.signedDate]), NotificationOrigin(seq: 5, source: .store), in: .sandbox)
        #expect(kept.isSame(as: rows))
        #expect(kept.lastPost == nil)
    }

    private static func payload(_ changes: String) -> TransactionPayload? {
        let whole = """
            {"transactionId":"1","originalTransactionId":"1","productId":"pro_monthly","purchaseDate":1789000000000,\
            "signedDate":1790000000000\(changes)}
            """
        return TransactionPayload(payload: Array(whole.utf8))
    }

    private static let renews = #","type":"Auto-Renewable Subscription","expiresDate":1791000000000"#

    /// Each would give access for ever, or more of it than Apple signed.
    @Test(arguments: [
        (#","type":"Auto-Renewable Subscription""#, "renews by itself and lacks its expiresDate"),
        (#","type":"Auto-Renewable Subscription","expiresDate":null"#, "renews by itself and lacks its expiresDate"),
        (#","type":"Auto-Renewable Subscription","expiresDate":"1791000000000""#, "documents: expiresDate"),
        (#","type":"Auto-Renewable Subscription","expiresDate":1e40"#, "documents: expiresDate"),
        (#","type":"Auto-Renewable Subscription","expiresDate":{}"#, "documents: expiresDate"),
        ("", "lacks its type and its expiresDate"),
        (#","type":7"#, "documents: type"), (#","type":"Rental""#, "does not know (Rental)"),
        (renews + #","revocationDate":"1790000000000""#, "documents: revocationDate"),
        (renews + #","isUpgraded":1"#, "documents: isUpgraded"),
        (renews + #","isUpgraded":"true","inAppOwnershipType":false"#, "documents: inAppOwnershipType, isUpgraded"),
        (#","type":"Non-Consumable","revocationDate":[1790000000000]"#, "documents: revocationDate"),
    ])
    func `a transaction whose end or revocation cannot be read is refused, and an older fact of it gives nothing`(
        changes: String, reason: String
    ) throws {
        let payload = try #require(Self.payload(changes))
        #expect(try #require(payload.flaw).contains(reason))
        let fact = try #require(TransactionFact(payload, tie: []))
        var facts = PurchaseFacts()
        facts.insert(fact)
        let purchase = try #require(Purchase(folding: facts, key: key))
        #expect(purchase.accessUntil == fact.purchaseDate)
    }

    @Test(
        arguments: [
            "webOrderLineItemId", "appTransactionId", "previousOriginalTransactionId", "subscriptionGroupIdentifier",
            "appAccountToken",
        ])
    func `a text that no row keeps is refused before a transaction fails of it`(member: String) throws {
        func flaw(_ text: String) throws -> String? {
            try #require(Self.payload(Self.renews + ",\"\(member)\":\"\(text)\"")).flaw
        }
        #expect(try flaw("a\\u0000b") == "has U+0000 in its \(member), which Postgres cannot store")
        #expect(try flaw(String(repeating: "é", count: 513)) == "has a \(member) of more than 1024 bytes")
        #expect(try flaw(String(repeating: "é", count: 512)) == nil)
        #expect(try flaw("a\\u0001b\\\\u0000") == nil)
    }

    @Test func `a renewal info that no row keeps is refused`() throws {
        func flaw(_ id: String) throws -> String? {
            let payload = Array(#"{"originalTransactionId":"\#(id)","signedDate":1}"#.utf8)
            return try #require(RenewalInfoPayload(payload: payload)).flaw
        }
        #expect(try flaw(#"2\u0000"#) == "has U+0000 in its originalTransactionId, which Postgres cannot store")
        #expect(try flaw("2000") == nil)
    }

    @Test(arguments: [
        renews, renews + #","revocationDate":null,"isUpgraded":null,"inAppOwnershipType":null"#,
        renews + #","isUpgraded":true,"revocationDate":1790000000000.5"#, #","type":"Non-Consumable""#,
        #","type":"Consumable","expiresDate":null"#, #","type":"Non-Renewing Subscription""#,
        #","type":"Rental","expiresDate":1791000000000"#, #","expiresDate":1791000000000"#,
    ])
    func `what Apple signs, and what it may sign yet, is taken`(changes: String) throws {
        #expect(try #require(Self.payload(changes)).flaw == nil)
    }

    @Test func `a commitment and the purchase that is continued are read`() throws {
        let fact = try #require(
            Self.payload(
                Self.renews
                    + #","previousOriginalTransactionId":"9","billingPlanType":"MONTHLY","commitmentInfo":{"billingPeriodNumber":2,"#
                    + #""totalBillingPeriods":12,"commitmentExpiresDate":1820000000000,"commitmentPrice":119880}"#
            ).flatMap { TransactionFact($0, tie: []) })
        #expect(fact.previousOriginalTransactionID == "9" && fact.billingPlan == "MONTHLY")
        #expect(
            fact.commitment
                == TransactionFact.Commitment(
                    billingPeriod: 2, billingPeriods: 12, expiresDate: 1_820_000_000_000, price: 119_880))
        let renewal = try #require(
            RenewalInfoPayload(
                payload: Array(
                    #"{"originalTransactionId":"1","commitmentInfo":{"commitmentAutoRenewStatus":0,"commitmentRenewalPrice":5}}"#
                        .utf8)
            ).flatMap { RenewalFact($0, tie: []) })
        #expect(renewal.commitment == RenewalFact.Commitment(autoRenewStatus: 0, renewalPrice: 5))
    }

    @Test func `facts come back from the database as they were told`() throws {
        let bench = try Bench()
        let rows = [transaction(), renewal, notification]
        try FactTable.insert(rows.map { FactTable.New(key: key, seq: 1, fact: $0) }, on: bench.connection)
        var told = PurchaseFacts()
        for row in rows { row.insert(into: &told) }
        #expect(told.transactions.count == 1 && told.renewals.count == 1 && told.notifications.count == 1)
        #expect(try FactTable.load([key], on: bench.connection) == [told])
        #expect(told.transactions.first?.price == 9990)
        #expect(told.notifications.first?.uuid == "u-1")
    }

    @Test func `a fact that is known is kept once`() throws {
        let bench = try Bench()
        for seq in Int64(1)...3 {
            try FactTable.insert(
                [transaction(), transaction(), renewal].map { FactTable.New(key: key, seq: seq, fact: $0) },
                on: bench.connection)
        }
        #expect(try bench.database.count("SELECT count(*) FROM entitled.fact") == 2)
        #expect(try bench.database.count("SELECT max(seq) FROM entitled.fact") == 1)
        try FactTable.insert([.init(key: key, seq: 4, fact: transaction(price: 1))], on: bench.connection)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.fact") == 3)
    }

    @Test func `the JWS of a fact can be put together again`() throws {
        let bench = try Bench()
        try FactTable.insert([.init(key: key, seq: 1, fact: transaction())], on: bench.connection)
        let row = try bench.connection.query(
            "SELECT j.header, f.payload, f.signature FROM entitled.fact f JOIN entitled.jws_header j ON j.id = f.header"
        ).one()
        #expect(try row.bytes(0) == header)
        #expect(try FactCodec.restore(try row.bytes(1)) == transaction().payload)
        #expect(try row.bytes(2) == transaction().signature)
    }

    @Test func `purchases are loaded each with its own facts, in the order asked for`() throws {
        let bench = try Bench()
        let other = PurchaseKey(app: "demo", environment: .production, originalTransactionID: key.originalTransactionID)
        try FactTable.insert([.init(key: key, seq: 1, fact: transaction())], on: bench.connection)
        try FactTable.insert([.init(key: other, seq: 1, fact: renewal)], on: bench.connection)
        let loaded = try FactTable.load([other, key], on: bench.connection)
        #expect(loaded.map(\.transactions.count) == [0, 1])
        #expect(loaded.map(\.renewals.count) == [1, 0])
        #expect(try FactTable.load([], on: bench.connection).isEmpty)
    }

    @Test(arguments: [nil, "INITIAL_BUY"])
    func `what a notification says survives its row`(subtype: String?) throws {
        let fact = NotificationFact(
            uuid: "ü\"\\", type: "SUBSCRIBED", subtype: subtype, status: nil, signedDate: 5, tie: [])
        let back = try #require(NotificationFact(payload: fact.payload))
        #expect([back.uuid, back.type, back.subtype] == ["ü\"\\", "SUBSCRIBED", subtype])
        #expect(back.signedDate == 5 && back.status == nil)
    }

    @Test func `a notification's transaction and consumption reason are kept`() throws {
        let fact = NotificationFact(
            uuid: "u", type: "CONSUMPTION_REQUEST", transactionID: "7-\"2", consumptionRequestReason: "ODD_ONE",
            signedDate: 5)
        let back = try #require(NotificationFact(payload: fact.payload))
        #expect([back.transactionID, back.consumptionRequestReason] == ["7-\"2", "ODD_ONE"])
    }

    @Test func `what was kept of a notification before it had a transaction reads, and is written, as it was`() throws {
        let kept = #"{"uuid":"u-1","type":"DID_RENEW","subtype":"BILLING_RECOVERY","status":1,"signedDate":5}"#
        let back = try #require(NotificationFact(payload: Array(kept.utf8)))
        #expect([back.uuid, back.type, back.subtype] == ["u-1", "DID_RENEW", "BILLING_RECOVERY"])
        #expect(back.transactionID == nil && back.consumptionRequestReason == nil)
        #expect(String(decoding: back.payload, as: UTF8.self) == kept)
    }

    @Test func `a payload that lacks what it needs adds nothing`() {
        var facts = PurchaseFacts()
        for kind in [FactRow.Kind.transaction, .renewal, .notification] {
            for text in ["", "{}", "[]", #"{"transactionId":"1"}"#] {
                FactRow(kind: kind, signedDate: 1, header: nil, signature: nil, payload: Array(text.utf8))
                    .insert(into: &facts)
            }
        }
        #expect(facts == PurchaseFacts())
    }
}
