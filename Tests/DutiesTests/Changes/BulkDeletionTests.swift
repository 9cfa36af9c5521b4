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
        let holdings = JSON.Member(
            name: ChangeVersions.holdings, value: .string(try ChangeVersions.holdings(of: "anna", on: worker)))
        return try bench.ask(
            ChangeFixture.request(
                .customerResend, "anna", .object((selection.json.members ?? []) + [holdings]), reason: "anna asked",
                key: "anna-1"))
    }

    /// What is kept to tell whether it is still about the same is a hash of ids that can be guessed.
    @Test(arguments: [ChangeKind.customerResend, .revoke], [true, false])
    func `nothing is left from which the customer could be guessed`(kind: ChangeKind, isSweptFirst: Bool) throws {
        var parameters: [JSON.Member]
        switch kind {
        case .revoke: parameters = [JSON.Member(name: "entitlement", value: .string("pro"))]
        default:
            parameters =
                BulkSelection(.deliveries(DeliveryQuery.Filter(), event: nil), until: SystemClock().now()).json.members
                ?? []
            parameters.append(
                JSON.Member(
                    name: ChangeVersions.holdings,
                    value: .string(try ChangeVersions.holdings(of: "anna", on: worker))))
        }
        let digest = try ChangeVersions.digest(kind, "anna", .object(parameters), on: worker)
        parameters.append(JSON.Member(name: ChangeVersions.member, value: .string(Hex.encode(digest))))
        let id = try bench.ask(ChangeFixture.request(kind, "anna", .object(parameters)))
        let deletion = try actions.delete("anna", on: worker)
        let end = {
            if kind == .revoke { _ = try bench.work.next(on: worker) } else { _ = try run(id) }
        }
        if !isSweptFirst { try end() }
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(deletion.id, on: worker) == .more {}
        if isSweptFirst { try end() }
        let left = try bench.database.texts("SELECT parameters FROM entitled.job")
        #expect(left.count == 1 && !left[0].contains("plan") && !left[0].contains(ChangeVersions.holdings), "\(left)")
        #expect(left[0].contains(kind == .revoke ? "entitlement" : "until_ms"))
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
