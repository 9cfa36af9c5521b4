import Base
import Crypto
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Notes on customers, and changes of who has what, asked for by the operator API and done by a worker.
struct OperatorCustomerChangeTests {
    private let fixture: OperatorFixture
    private let work = ChangeWork(entitlements: [], foldSettings: FoldSettings(), clock: SystemClock())

    init() throws {
        fixture = try OperatorFixture()
    }

    private static func body(_ members: KeyValuePairs<String, JSON?>, reason: Bool = true) -> JSON {
        .object(
            (JSON.object(members).members ?? [])
                + (reason ? [JSON.Member(name: "reason", value: .string("ticket 4711"))] : []))
    }

    /// Asks, while a worker does what is asked for.
    private func post(_ path: String, _ body: JSON, as role: OperatorRole = .operator) throws -> HTTPCall {
        let thread = TestThread { [work, database = fixture.database] in
            let connection = try database.connect(role: "entitled_worker")
            let deadline = ContinuousClock.now + .seconds(4)
            while try work.next(on: connection) == nil, .now < deadline {}
        }
        let call = fixture.post(path, body, as: role)
        try thread.value()
        return call
    }

    private func notes(of id: String = "anna", as role: OperatorRole = .operator) -> [JSON] {
        fixture.get("/customers/\(id)/notes", as: role).json["items"]?.arrayValue ?? []
    }

    @Test func `a note is written, read with any id of the customer, and removed by its author alone`() throws {
        let made = try post(
            "/customers/Anna@home/notes", Self.body(["text": .string("Called.\n<b>Twice</b>")], reason: false),
            as: .support)
        let number = try #require(made.json["outcome"]?["note"]?.intValue, "\(made.text)")
        #expect(notes().map { $0["text"] } == [.string("Called.\n<b>Twice</b>")])
        #expect(notes(as: .support).first?["author"] == .string("support"))
        #expect(notes(of: "ben").isEmpty)
        for role in [OperatorRole.integrator, .finance, .read] {
            #expect(fixture.get("/customers/anna/notes", as: role).status == 403)
            #expect(fixture.post("/customers/anna/notes", Self.body(["text": .string("x")]), as: role).status == 403)
        }
        // The job forgets the text once it is done.
        #expect(try fixture.database.texts("SELECT parameters::text FROM entitled.job") == ["{}"])
        let path = "/customers/anna/notes/\(number)/remove"
        let others = try post(path, Self.body([:]))
        #expect(others.status == 409 && others.text.contains("The note is support's."), "\(others.text)")
        #expect(try post("/customers/ben/notes/\(number)/remove", Self.body([:]), as: .support).status == 409)
        #expect(try post(path, Self.body([:], reason: false), as: .support).status == 200)
        #expect(notes().isEmpty)
        #expect(fixture.get("/audit?target=anna&kind=note_remove").json["items"]?.arrayValue?.count == 2)
        #expect(fixture.post("/customers/anna/notes", Self.body([:])).status == 400)
        let long = Self.body(["text": .string(String(repeating: "x", count: 4001))])
        #expect(fixture.post("/customers/anna/notes", long).status == 400)
    }

    @Test func `notes go with their customer into an alias`() throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text)
            VALUES ('ben', 'support', 1, 'of ben'), ('Anna@home', 'support', 2, 'of anna')
            """)
        let joined = try post("/customers/anna/aliases", Self.body(["alias": .string("ben")]))
        #expect(joined.status == 200 && joined.json["outcome"]?["ids"] == .int(3), "\(joined.text)")
        #expect(notes(of: "ben").map { $0["text"] } == [.string("of anna"), .string("of ben")])
        #expect(fixture.get("/customers/ben/notes?limit=1").json["next"] != .null)
        // Whom it was joined with stands in the log of the customer alone.
        #expect(
            try fixture.database.count("SELECT count(*) FROM entitled.job WHERE parameters::text LIKE '%ben%'") == 0)
    }

    @Test(arguments: [
        ("/customers/anna/aliases", "alias"), ("/customers/anna/transfers", "to"),
        ("/purchases/demo/Production/\(OperatorFixture.otid)/claims", "customer"),
    ])
    func `a customer who is deleted while a change waits is not made anew`(_ path: String, _ member: String) throws {
        try fixture.sign()
        let deleter = try fixture.database.connect()
        _ = try deleter.query("BEGIN")
        _ = try deleter.query("DELETE FROM entitled.app_user_id WHERE original_app_user_id = 'ben'")
        _ = try deleter.query("DELETE FROM entitled.customer WHERE original_app_user_id = 'ben'")
        let asking = TestThread { try post(path, Self.body([member: .string("ben")])) }
        try fixture.database.untilBlocked()
        _ = try deleter.query("COMMIT")
        let call = try asking.value()
        #expect(call.status == 409, "\(call.text)")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.app_user_id WHERE id = 'ben'") == 0)
        #expect(try fixture.database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["anna"])
    }

    @Test func `the removal of an old note is shown before, and done`() throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text)
            SELECT 'anna', 'support', n, 'note ' || n FROM generate_series(1, 30) n
            """)
        let path = "/customers/anna/notes/1/remove"
        let preview = fixture.post("\(path)?preview=true", Self.body([:]), as: .support)
        #expect(preview.json["before"]?["text"] == .string("note 1"), "\(preview.text)")
        #expect(try post(path, Self.body([:]), as: .support).status == 200)
        #expect(notes(as: .support).count == 29)
    }

    @Test func `an alias that no customer has is added only where that is asked for`() throws {
        let typo = fixture.post("/customers/anna/aliases", Self.body(["alias": .string("BEN")]))
        #expect(typo.status == 400 && typo.text.contains("similar ids are: ben"), "\(typo.text)")
        let body = Self.body(["alias": .string("anna-web"), "create": .bool(true)])
        #expect(fixture.post("/customers/anna/aliases", body, as: .support).status == 403)
        let preview = fixture.post("/customers/anna/aliases?preview=true", body)
        #expect(
            preview.json["after"]?["ids"] == .strings(["anna", "Anna@home", "anna-web"]), "\(preview.text)")
        #expect(try post("/customers/anna/aliases", body).json["outcome"]?["changed"] == .bool(true))
        #expect(fixture.get("/customers/anna-web").json["customer"]?["original_app_user_id"] == .string("anna"))
    }

    @Test func `purchases move, and nothing moves that is not as it was shown`() throws {
        let body = Self.body(["to": .string("ben")])
        let preview = fixture.post("/customers/anna/transfers?preview=true", body, as: .support)
        #expect(preview.status == 200, "\(preview.text)")
        let plan = try #require(preview.json["plan"]?.stringValue)
        try fixture.database.execute("UPDATE entitled.purchase SET version = version + 1")
        let stale = fixture.post("/customers/anna/transfers", body, as: .support, headers: ["If-Plan": plan])
        #expect(stale.status == 409 && fixture.code(stale) == "changed_meanwhile")
        let moved = try post("/customers/anna/transfers", body, as: .support)
        #expect(moved.json["outcome"]?["purchases"] == .strings([OperatorFixture.otid]), "\(moved.text)")
        #expect(try fixture.database.texts("SELECT owner FROM entitled.purchase") == ["ben"])
        let other = Self.body(["to": .string("anna"), "purchase": .string("none")])
        #expect(try post("/customers/ben/transfers", other).status == 409)
        #expect(fixture.post("/customers/anna/transfers", Self.body(["to": .string("nobody")])).status == 400)
        #expect(fixture.post("/customers/anna/transfers", body, as: .integrator).status == 403)
    }
}
