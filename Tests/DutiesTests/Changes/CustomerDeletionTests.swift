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

/// Customers whom operators delete.
struct CustomerDeletionTests {
    private let fixture: ChangeFixture
    private let worker: PostgresConnection

    init() throws {
        fixture = try ChangeFixture()
        worker = try fixture.worker()
    }

    private static let policy = JSON.object(["policy": .string("pseudonymise")])

    private func request(
        _ key: String = "k1", as user: String = "operator", _ parameters: JSON = policy
    ) -> ChangeTable.Request {
        ChangeFixture.request(.customerDelete, "anna", parameters, as: user, reason: "anna wrote a mail", key: key)
    }

    private func sweep() throws {
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        while try erasure.step(on: worker) {}
    }

    private func rows() throws -> [String] {
        try fixture.database.texts(
            """
            SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a
            UNION ALL SELECT row_to_json(d)::text FROM entitled.deletion d UNION ALL
            SELECT row_to_json(l)::text FROM entitled.action l
            """)
    }

    @Test func `a deletion is done as by the command, and its own request forgets whom it was about`() throws {
        let granted = try #require(try fixture.ending(of: ChangeFixture.grant(key: "g")))
        #expect(granted.outcome == .done)
        guard case .done(let outcome)? = try fixture.ending(of: request()) else { throw TestFailure("not deleted") }
        #expect(outcome["id_count"] == .int(1) && outcome["purchase_count"] == .int(1))
        #expect(outcome["policy"] == .string("pseudonymise"))
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.app_user_id WHERE id = 'anna'") == 0)
        #expect(try fixture.audit().last?.hasPrefix("operator customer_delete anna done") == true)
        try sweep()
        let left = try rows()
        #expect(left.count >= 6 && left.allSatisfy { !$0.contains("anna") }, "\(left.filter { $0.contains("anna") })")
        #expect(
            try fixture.database.texts("SELECT actor || ' ' || is_log_swept FROM entitled.deletion") == [
                "operator true"
            ])
    }

    @Test func `an id that joined the customer after the request is not deleted with them`() throws {
        func wanted() throws -> JSON {
            let holdings = JSON.Member(
                name: ChangeVersions.holdings, value: .string(try ChangeVersions.holdings(of: "anna", on: worker)))
            return .object((Self.policy.members ?? []) + [holdings])
        }
        let first = try fixture.ask(request("1", as: "operator", try wanted()))
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        _ = try actions.alias("anna", "anna-2", makesOther: true, on: worker)
        #expect(try fixture.work.next(on: worker)?.ending == .refused(ChangeVersions.otherHoldings))
        #expect(try fixture.change(first).state == .failed)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.app_user_id WHERE id LIKE 'anna%'") == 2)
        guard case .done(let outcome)? = try fixture.ending(of: request("2", as: "operator", try wanted())) else {
            throw TestFailure("not deleted")
        }
        #expect(outcome["id_count"] == .int(2))
    }

    @Test func `the same key deletes no customer who came back under the id`() throws {
        let console = try fixture.console()
        #expect(try fixture.ending(of: request())?.outcome == .done)
        let job = try fixture.database.count("SELECT max(id) FROM entitled.job")
        #expect(try ChangeTable.ask(request(), on: console) == .repeated(job))
        try fixture.addCustomer("anna")
        #expect(try ChangeTable.ask(request(), on: console) == .repeated(job))
        try sweep()
        // What it was about is forgotten: it is told from others by its key alone.
        #expect(try ChangeTable.ask(request(), on: console) == .mismatch)
        #expect(try fixture.work.next(on: worker) == nil)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.app_user_id WHERE id = 'anna'") == 1)
        // A key that names the customer goes.
        #expect(try fixture.ending(of: request("delete-anna"))?.outcome == .done)
        try sweep()
        #expect(try rows().allSatisfy { !$0.contains("anna") })
    }

    @Test func `what was asked for twice, by a lower role, or without saying how, is refused`() throws {
        for user in ["support", "integrator", "finance", "read"] {
            let ending = try fixture.ending(of: request(user, as: user))
            #expect(ending?.message?.contains("it needs one of: operator") == true, "\(user)")
        }
        for (number, wrong) in [JSON.object([JSON.Member]()), .object(["policy": .string("all")]), .int(1)].enumerated()
        {
            #expect(try fixture.ending(of: request("w\(number)", wrong))?.outcome == .refused)
        }
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.deletion") == 0)
        let (first, second) = (try fixture.ask(request("1")), try fixture.ask(request("2")))
        #expect(try fixture.work.next(on: worker)?.job == first)
        try fixture.addCustomer("anna")
        let ended = try #require(try fixture.work.next(on: worker))
        #expect(ended.job == second && ended.ending.outcome == .refused)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.app_user_id WHERE id = 'anna'") == 1)
    }
}
