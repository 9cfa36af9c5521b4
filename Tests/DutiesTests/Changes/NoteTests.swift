import Base
import Customers
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Notes on customers, as workers write them.
struct NoteTests {
    private let fixture: ChangeFixture
    private let worker: PostgresConnection

    init() throws {
        fixture = try ChangeFixture()
        worker = try fixture.worker()
    }

    private func actions(_ actor: String) -> CustomerActions {
        CustomerActions(origin: ActionTable.Origin(actor: actor, reason: nil), foldSettings: FoldSettings())
    }

    private func texts() throws -> [String] {
        try fixture.database.texts("SELECT author || ': ' || text FROM entitled.customer_note ORDER BY id")
    }

    @Test func `a note is removed by its author, and goes with its customer`() throws {
        let first = try actions("support").note("first", about: "anna", on: worker)
        _ = try actions("root@host").note("second", about: "anna", on: worker)
        #expect(try texts() == ["support: first", "root@host: second"])
        #expect(throws: CustomerActions.Rejection.unknown("none")) {
            _ = try actions("support").note("x", about: "none", on: worker)
        }
        func remove(_ ids: [String], by author: String?) throws -> CustomerNoteTable.Removal {
            try worker.transaction { try CustomerNoteTable.remove(first.id, of: ids, by: author, on: worker) }
        }
        guard case .othersNote("support") = try remove(["anna"], by: "operator"),
            case .notFound = try remove(["ben"], by: "support"), case .done = try remove(["anna"], by: "support")
        else { throw TestFailure("\(try texts())") }
        #expect(try texts() == ["root@host: second"])
        _ = try actions("root@host").delete("anna", on: worker)
        #expect(try texts().isEmpty)
    }

    @Test func `a note that was asked for before the deletion is not written`() throws {
        let request = ChangeFixture.request(.note, "anna", .object(["text": .string("late")]), as: "support")
        _ = try ChangeTable.ask(request, on: try fixture.console())
        _ = try actions("root@host").delete("anna", on: worker)
        let ended = try fixture.work.next(on: worker)
        #expect(ended?.ending.outcome == .refused)
        #expect(try texts().isEmpty)
        #expect(try fixture.database.texts("SELECT parameters FROM entitled.job") == ["{}"])
    }
}
