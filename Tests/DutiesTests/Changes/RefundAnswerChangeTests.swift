import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Answers to Apple's questions about refunds, asked for by operators and given by a worker.
struct RefundAnswerChangeTests {
    private let fixture: ChangeFixture
    private let worker: PostgresConnection
    private static let key = PurchaseKey(
        app: "demo", environment: .production, originalTransactionID: "2000000000000777")
    private let work = ChangeWork(
        entitlements: [], foldSettings: FoldSettings(), refundApps: ["demo"], clock: SystemClock())

    init() throws {
        fixture = try ChangeFixture()
        worker = try fixture.worker()
        try ask(deadline: SystemClock().now() + 3_600_000)
    }

    private func ask(deadline: Int64) throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
                reasons, repeats, asked_ms, deadline_ms)
            VALUES ($1, 'demo', 0, '2000000000000778', $2, 'monthly', '{OTHER}', 0, 1, $3)
            """, [.int2(Self.key.lane.number), .text(Self.key.originalTransactionID), .int8(deadline)])
    }

    private static func parameters(_ more: [JSON.Member] = []) throws -> JSON {
        let answer = try RefundAnswerForm(preference: "decline", consumed: 80).answer()
        return .object(
            [
                JSON.Member(name: "app", value: .string("demo")),
                .init(name: "environment", value: .string("Production")),
                .init(name: "transaction", value: .string("2000000000000778")),
                .init(name: "answer", value: answer.json),
            ] + more)
    }

    private func ending(key: String = "1", _ parameters: JSON, by work: ChangeWork? = nil) throws -> ChangeEnding? {
        try fixture.ask(
            ChangeFixture.request(
                .refundAnswer, Self.key.originalTransactionID, parameters, as: "support", key: key))
        return try (work ?? self.work).next(on: worker)?.ending
    }

    private func state() throws -> [String] {
        try fixture.database.texts(
            "SELECT concat_ws(' ', state, answered_by, answer::json ->> 'preference') FROM entitled.refund_request")
    }

    @Test func `an answer is ready to be sent, by the operator's name, and the job forgets it`() throws {
        let ending = try ending(try Self.parameters())
        guard case .done(let outcome)? = ending else { throw TestFailure("\(String(describing: ending))") }
        #expect(outcome["state"] == .string("ready") && outcome["preference"] == .string("DECLINE"))
        #expect(try state() == ["ready support DECLINE"])
        #expect(try fixture.database.texts("SELECT parameters FROM entitled.job") == ["{}"])
        #expect(try fixture.audit() == ["support refund_answer 2000000000000777 done 1"])
    }

    @Test func `what is too late, was never asked, or nothing answers, is refused`() throws {
        #expect(
            try ending(key: "1", try Self.parameters(), by: fixture.work)?.message?.contains("refunds.policy") == true)
        try fixture.database.execute("UPDATE entitled.refund_request SET deadline_ms = 2")
        #expect(try ending(key: "2", try Self.parameters())?.message?.contains("the 12 hours are over") == true)
        try fixture.database.execute("UPDATE entitled.refund_request SET deadline_ms = 9000000000000, state = 'sent'")
        #expect(try ending(key: "3", try Self.parameters())?.message?.contains("an answer was sent") == true)
        try fixture.database.execute(
            "UPDATE entitled.refund_request SET state = 'open', decision = 'REFUND', decided_ms = 1")
        #expect(try ending(key: "4", try Self.parameters())?.message?.contains("Apple decided (REFUND)") == true)
        try fixture.database.execute("DELETE FROM entitled.refund_request")
        #expect(try ending(key: "5", try Self.parameters())?.message?.contains("no question") == true)
        #expect(try fixture.audit().filter { $0.contains(" refused ") }.count == 5)
    }

    @Test func `an answer that was shown before is not given to another question`() throws {
        let parameters = try Self.parameters()
        let digest = try ChangeVersions.digest(
            .refundAnswer, Self.key.originalTransactionID, parameters, on: fixture.console())
        let plan = JSON.Member(name: ChangeVersions.member, value: .string(Hex.encode(digest)))
        try fixture.database.execute("UPDATE entitled.refund_request SET asked_ms = asked_ms + 1")
        #expect(try ending(key: "1", try Self.parameters([plan])) == .refused(ChangeVersions.changed))
        try fixture.database.execute("UPDATE entitled.refund_request SET asked_ms = asked_ms - 1")
        #expect(try ending(key: "2", try Self.parameters([plan]))?.outcome == .done)
    }

    @Test func `words of answers are Apple's`() throws {
        for preference in RefundAnswerForm.preferences.keys {
            for delivery in RefundAnswerForm.deliveries.keys {
                let answer = try RefundAnswerForm(preference: preference, delivery: delivery).answer()
                #expect(RefundAnswerForm.allows(answer))
                #expect(ConsumptionInformation(answer) != nil, "\(preference) \(delivery)")
            }
        }
        #expect(
            Set(RefundAnswerForm.preferences.values) == Set(ConsumptionInformation.Preference.allCases.map(\.rawValue)))
        #expect(
            Set(RefundAnswerForm.deliveries.values) == Set(ConsumptionInformation.Delivery.allCases.map(\.rawValue)))
        #expect(RenewalExtension.Reason.allCases.map(\.word) == RenewalExtensionTerms.reasons)
        #expect(RenewalExtension.longest == RenewalExtensionTerms.longest)
        for refused in [
            RefundAnswer(delivery: "LOST", sampleContentProvided: true),
            RefundAnswer(delivery: "DELIVERED", sampleContentProvided: true, consumed: .max),
            RefundAnswer(delivery: "DELIVERED", sampleContentProvided: true, consumed: 500),
            RefundAnswer(delivery: "DELIVERED", sampleContentProvided: true, preference: "decline"),
            RefundAnswer(delivery: "UNDELIVERED_OTHER", sampleContentProvided: true, consumed: 1000),
        ] {
            #expect(!RefundAnswerForm.allows(refused), "\(refused)")
        }
        func flaw(_ form: RefundAnswerForm) -> RefundAnswerForm.Flaw? {
            do throws(RefundAnswerForm.Flaw) {
                _ = try form.answer()
                return nil
            } catch { return error }
        }
        #expect(flaw(RefundAnswerForm(delivery: "other", consumed: 1)) == .usedUndelivered)
        #expect(flaw(RefundAnswerForm(preference: "grant_prorated", consumed: 100)) == .proratedWhole)
        #expect(flaw(RefundAnswerForm(consumed: 101)) == .noPercentage)
        #expect(flaw(RefundAnswerForm(preference: "yes")) == .unknownPreference)
        #expect(flaw(RefundAnswerForm(delivery: "yes")) == .unknownDelivery)
    }
}
