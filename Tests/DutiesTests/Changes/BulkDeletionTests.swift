import Base
import Customers
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Changes of many rows that are about a customer who is deleted.
@Suite struct BulkDeletionTests {
    private let bench: ChangeFixture
    private let worker: PostgresConnection
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())

    init() throws {
        bench = try ChangeFixture()
        worker = try bench.worker()
    }

    private func ask() throws -> Int64 {
        let selection = BulkSelection(
            .deliveries(DeliveryQuery.Filter(), event: nil), until: SystemClock().now())
        return try bench.ask(
            ChangeFixture.request(
                .customerResend, "anna", selection.json, reason: "anna asked", key: "anna-1"))
    }

    private func run(_ id: Int64) throws -> Job {
        try JobDriver(id, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, _ in false }
    }

    private func expectNothingOfAnna(rows: Int) throws {
        let left = try bench.database.texts(
            "SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        )
        #expect(left.count == rows && left.allSatisfy { !$0.contains("anna") }, "\(left)")
    }

    @Test(arguments: [true, false])
    func `a deletion reaches one that waits, and it does nothing any more`(isSweptFirst: Bool) throws {
        let id = try ask()
        let deletion = try actions.delete("anna", on: worker)
        // An app makes another customer of the same id.
        try bench.addCustomer("anna")
        func sweep() throws {
            let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
            while try erasure.step(deletion.id, on: worker) == .more {}
        }
        if isSweptFirst { try sweep() }
        let ended = try run(id)
        #expect(ended.state == .failed && ended.error?.contains("was deleted") == true, "\(ended)")
        if !isSweptFirst { try sweep() }
        try expectNothingOfAnna(rows: 2)
        #expect(try bench.audit().first?.hasSuffix("refused \(id)") == true)
    }

    @Test func `one of a customer who is there is done`() throws {
        let ended = try run(try ask())
        #expect(ended.state == .done)
        #expect(try bench.audit() == ["operator customer_resend anna done 1"])
    }
}
