import Base
import Crypto
import Customers
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// What changes and the audit keep of the purchases of a customer who is deleted.
struct IDRedactionTests {
    private let fixture: ChangeFixture
    private let worker: PostgresConnection
    private static let id = "2000000000000777"
    private static let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: id)
    private let work = ChangeWork(
        entitlements: ["pro"], foldSettings: FoldSettings(), refundApps: ["demo"], clock: SystemClock())

    init() throws {
        fixture = try ChangeFixture()
        worker = try fixture.worker()
        try fixture.addCustomer("ben")
        try buy(Self.key)
    }

    private func buy(_ key: PurchaseKey, _ owner: String = "anna") throws {
        let bought = SystemClock().now() - 86_400_000
        let id = JSON.string(key.originalTransactionID)
        let payload = JSON.object([
            "transactionId": id, "originalTransactionId": id, "productId": .string("monthly"),
            "purchaseDate": .int(bought), "originalPurchaseDate": .int(bought),
            "expiresDate": .int(bought + 30 * 86_400_000), "type": .string("Auto-Renewable Subscription"),
            "signedDate": .int(bought),
        ])
        let fact = FactRow(kind: .transaction, signedDate: bought, header: nil, signature: nil, payload: payload.bytes)
        try worker.transaction {
            try FactTable.insert([FactTable.New(key: key, seq: 1, fact: fact)], on: worker)
            let facts = try #require(try FactTable.load([key], on: worker).first)
            let purchase = try #require(Purchase(folding: facts, key: key))
            try PurchaseTable.write([PurchaseRecord(purchase, owner: owner, wake: nil)], now: bought, on: worker)
        }
    }

    private func change(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON, reason: String = "ticket 77", key: String
    ) throws -> ChangeEnding {
        try fixture.ask(ChangeFixture.request(kind, target, parameters, reason: reason, key: key))
        return try #require(try work.next(on: worker)?.ending)
    }

    private func erase(_ customer: String, _ policy: DeletionPolicy) throws {
        let deletion = try CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
            .delete(customer, policy: policy, on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(deletion.id, on: worker) == .more {}
    }

    private func rows() throws -> [String] {
        try fixture.database.texts(
            """
            SELECT row_to_json(j)::text FROM entitled.job j
            UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a
            """)
    }

    @Test(arguments: [DeletionPolicy.erase, .pseudonymise], ["anna", "ben"])
    func `a deletion takes the ids of purchases from what came of changes`(
        policy: DeletionPolicy, deleted: String
    ) throws {
        // Of the one who had it, and of the one who has it: the outcome of the former one's change names it.
        let moved = try change(.transfer, "anna", .object(["to": .string("ben")]), key: "1")
        guard case .done(let outcome) = moved else { throw TestFailure("\(moved)") }
        #expect(outcome["purchases"] == .strings([Self.id]))
        let place: [JSON.Member] = [
            .init(name: "app", value: .string("demo")), .init(name: "environment", value: .string("Production")),
        ]
        let claim = JSON.object(place + [.init(name: "purchase", value: .string(Self.id))])
        _ = try change(.claim, "ben", claim, reason: "asked for \(Self.id)", key: "2")
        let answer = try RefundAnswerForm().answer().json
        _ = try change(
            .refundAnswer, Self.id,
            .object(
                place + [.init(name: "transaction", value: .string(Self.id)), .init(name: "answer", value: answer)]),
            key: "3")
        #expect(try rows().filter { $0.contains(Self.id) }.count >= 4)
        if deleted == "anna" {
            // It goes back, so that it is anna's when she is deleted; ben's change names it then.
            _ = try change(.transfer, "ben", .object(["to": .string("anna")]), key: "4")
        }
        try erase(deleted, policy)
        let left = try rows()
        #expect(left.allSatisfy { !$0.contains(Self.id) && !$0.contains(deleted) }, "\(left)")
        #expect(left.count == (deleted == "anna" ? 8 : 6))
    }

    @Test(arguments: [DeletionPolicy.erase, .pseudonymise])
    func `a deletion takes the ids of purchases from what was asked for`(policy: DeletionPolicy) throws {
        let renewal = "2000000000000778"
        let place: [JSON.Member] = [
            .init(name: "app", value: .string("demo")), .init(name: "environment", value: .string("Production")),
        ]
        let answer: [JSON.Member] = [
            .init(name: "transaction", value: .string(renewal)),
            .init(name: "answer", value: try RefundAnswerForm().answer().json),
        ]
        let days: [JSON.Member] = [
            .init(name: "days", value: .int(7)), .init(name: ChangeVersions.requestID, value: .string("r-\(renewal)")),
        ]
        let list = JSON.object([
            "notifications": .object(["purchase": .string(Self.id), "app": .string("demo")]), "until_ms": .int(1),
        ])
        let claim = JSON.object(place + [.init(name: "purchase", value: .string(Self.id))])
        for (number, (kind, target, parameters)) in [
            (ChangeKind.refundAnswer, Self.id, JSON.object(place + answer)),
            (.purchaseExtend, Self.id, .object(place + days)), (.bulkReprocess, "notifications", list),
            (.claim, "anna", claim), (.claim, "ben", claim),
        ].enumerated() {
            try fixture.ask(ChangeFixture.request(kind, target, parameters, key: "\(number)"))
        }
        let other = JSON.object(["notifications": .object(["purchase": .string("2000000000000001")])])
        try fixture.ask(ChangeFixture.request(.bulkReprocess, "notifications", other, key: "other"))
        try erase("anna", policy)
        let left = try rows()
        #expect(left.allSatisfy { !$0.contains(Self.id) && !$0.contains(renewal) }, "\(left)")
        #expect(left.count == 6)
        // What is about something else stays as it was asked for.
        let lists = try fixture.database.texts(
            "SELECT parameters FROM entitled.job WHERE kind = 'bulk_reprocess' ORDER BY id")
        #expect(lists.last == other.text && lists.first?.contains("\"app\":\"demo\"") == true, "\(lists)")
        // A list that names another purchase now does not go on as if that had been asked for.
        #expect(
            try fixture.database.texts(
                """
                SELECT (idempotency_key = 'change ' || id)::text FROM entitled.job WHERE kind = 'bulk_reprocess' ORDER BY id
                """) == ["true", "false"])
    }

    @Test func `an answer that waits when the customer is deleted is not given`() throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
                reasons, repeats, asked_ms, deadline_ms)
            VALUES ($1, 'demo', 0, $2, $2, 'monthly', '{}', 0, 1, 9000000000000)
            """, [.int2(Self.key.lane.number), .text(Self.id)])
        let parameters = JSON.object([
            "app": .string("demo"), "environment": .string("Production"), "transaction": .string(Self.id),
            "answer": try RefundAnswerForm().answer().json,
        ])
        let job = try fixture.ask(ChangeFixture.request(.refundAnswer, Self.id, parameters, key: "1"))
        try erase("anna", .pseudonymise)
        #expect(try work.next(on: worker)?.ending.message?.contains("was deleted") == true)
        #expect(try fixture.change(job).target.hasPrefix("$RCAnonymousID:"))
        #expect(try fixture.database.texts("SELECT state FROM entitled.refund_request") == ["open"])
        #expect(try rows().allSatisfy { !$0.contains(Self.id) })
    }
}
