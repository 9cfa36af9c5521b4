import Base
import Database
import EntitledApp
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Every command takes an id of a customer in the same way, and says for whom it was taken.
@Suite struct CustomerIDTests {
    private static let uuid = "dddddddd-1111-4111-8111-00000000beef"
    private let bench: DoctorFixture

    /// Customers Zoe, zoe, Kim (with the alias kim), Ann and a UUID.
    init() throws {
        bench = try DoctorFixture()
        let connection = try bench.database.connect(role: "entitled_worker")
        for (place, id) in ["Zoe", "zoe", "Kim", "Ann", Self.uuid].enumerated() {
            try CustomerTable.make([id], now: Int64(place), on: connection)
        }
        try bench.database.execute("INSERT INTO entitled.app_user_id VALUES ('kim', 'Kim', 9)")
    }

    private var customers: [String] {
        get throws { try bench.database.texts("SELECT original_app_user_id FROM entitled.customer ORDER BY 1") }
    }

    private func run(_ words: String...) -> ProgramFixture.Outcome { bench.run(words) }

    private func resolved(_ outcome: ProgramFixture.Outcome) -> [JSON] {
        outcome.document?["resolved"]?.arrayValue ?? []
    }

    // MARK: - Reading

    @Test func `what only reads takes an id in another case, and says so`() throws {
        let page = run("customers", "show", "ANN")
        #expect(page.status == 0 && page.errors.isEmpty)
        #expect(page.output.hasPrefix("ANN is Ann; 1 id differs only in case: Ann\n\nAnn\n"))
        // Of one customer both are: it does not matter which is meant.
        let upper = Self.uuid.uppercased()
        for (id, beginning) in [
            ("KIM", "KIM is Kim; 2 ids differ only in case: Kim, kim\n\n"), (upper, "\(upper) is \(Self.uuid)\n\n"),
            ("Ann", "Ann\n"), ("zoe", "zoe is taken; 1 id differs only in case: Zoe\n\nzoe\n"),
        ] {
            #expect(run("customers", "show", id).output.hasPrefix(beginning))
        }
        let document = run("customers", "show", "KIM", "--json")
        #expect(document.document?["customer"]?["original_app_user_id"] == .string("Kim"))
        #expect(
            resolved(document).first?.text
                == #"{"app_user_id":"Kim","created":false,"differ_only_in_case":["Kim","kim"],"given":"KIM","match":"case"}"#
        )
    }

    @Test func `an export is one document on standard output, and the note stands elsewhere`() throws {
        let export = run("customers", "export", "ANN")
        #expect(export.status == 0 && export.errorLines == 1)
        #expect(export.errors.contains("ANN is Ann; 1 id differs only in case: Ann"))
        #expect(export.document?["customer"]?["original_app_user_id"] == .string("Ann"))
        let file = run("customers", "export", "ANN", "--output", "\(bench.folder)/ann.json", "--json")
        #expect(file.errors.isEmpty)
        #expect(resolved(file).first?["app_user_id"] == .string("Ann"))
    }

    @Test(arguments: ["show", "export"])
    func `an id that two customers have but for the case is refused, and both are named`(command: String) throws {
        let outcome = run("customers", command, "ZOE")
        #expect(outcome.status == 1 && outcome.errorLines == 1 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("2 ids differ only in case: Zoe, zoe; give the id as it is written"))
        #expect(run("customers", command, "nobody-at-all").errors.contains("no customer has the id nobody-at-all"))
    }

    // MARK: - Changing

    /// What changes something, but for the id, and what the id is otherwise.
    private static let changing: [([String], [String])] = [
        (["customers", "alias"], ["Ann"]), (["customers", "transfer"], ["Ann"]), (["customers", "delete"], []),
        (["customers", "revoke-grant"], ["pro"]), (["customers", "restore-behavior"], ["share"]),
        (["customers", "grant"], ["pro", "--duration", "lifetime"]), (["customers", "transfer", "Ann"], []),
        (["customers", "alias", "Ann"], []),
    ]

    @Test(arguments: changing)
    func `what changes something does not take an id in another case, but a UUID`(
        before: [String], after: [String]
    ) throws {
        let rows = "SELECT id || ' ' || original_app_user_id FROM entitled.app_user_id ORDER BY 1"
        let known = try bench.database.texts(rows)
        for (id, near) in [("KIM", "Kim, kim"), ("zOE", "Zoe, zoe")] {
            let refused = bench.run(before + [id] + after)
            #expect(refused.status == 1 && refused.errorLines == 1 && refused.output.isEmpty)
            let reason =
                "no customer has the id \(id), and 2 ids differ only in case: \(near); give the id as it is written"
            #expect(refused.errors.contains(reason))
        }
        let unknown = bench.run(before + ["nobody-at-all"] + after)
        #expect(unknown.status == 1 && unknown.errorLines == 1)
        #expect(unknown.errors.contains("no customer has the id nobody-at-all"))
        #expect(try bench.database.texts(rows) == known)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.action") == 0)
        let upper = bench.run(before + [Self.uuid.uppercased()] + after)
        #expect(upper.status == 0, "\(upper.errors)")
        #expect(upper.output.contains("\(Self.uuid.uppercased()) is \(Self.uuid)\n"))
        // No other spelling of it was made.
        let ids = try bench.database.texts("SELECT id FROM entitled.app_user_id")
        #expect(!ids.contains(Self.uuid.uppercased()))
    }

    @Test func `a grant to an id that no customer has needs a word, and says that it made one`() throws {
        let grant = ["customers", "grant", "anana", "pro", "--duration", "lifetime"]
        let refused = bench.run(grant)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("no customer has the id anana; --create takes it as a new id"))
        #expect(try customers.count == 5)
        let made = bench.run(grant + ["--create"])
        #expect(made.output == "created anana\nanana has pro forever\n")
        // The same again: the customer is there now.
        #expect(bench.run(grant + ["--create"]).output.hasPrefix("anana had been given this"))
        let json = run("customers", "grant", "ann", "pro", "--duration", "weekly", "--create", "--json")
        #expect(json.document?["changed"] == .bool(true))
        #expect(
            resolved(json).first?.text
                == #"{"app_user_id":"ann","created":true,"differ_only_in_case":["Ann"],"given":"ann","match":null}"#)
        #expect(try customers == ["Ann", "Kim", "Zoe", "anana", "ann", Self.uuid, "zoe"])
    }

    @Test func `whoever gets a purchase or another id is named alike`() throws {
        let made = run("customers", "transfer", "Ann", "ben", "--create")
        #expect(made.output.hasPrefix("created ben\n"))
        let alias = run("customers", "alias", "Kim", "KIM", "--create")
        #expect(alias.output.hasPrefix("created KIM; 2 ids differ only in case: Kim, kim\nKim is one customer now: "))
        let json = run("customers", "transfer", "KIM", Self.uuid.uppercased(), "--json")
        #expect(resolved(json).map { $0["match"] } == [.string("exact"), .string("uuid")])
        #expect(json.document?["moved"] == .array([]))
    }

    @Test func `a purchase is claimed for an id that a customer has`() throws {
        try bench.database.execute(
            """
            WITH lane AS (SELECT $1::int2 AS lane), made AS (
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                    will_renew, version, updated_ms)
                SELECT lane, 'demo', 1, '2000', 'Ann', 'pro_monthly', true, 1, 1 FROM lane
            )
            INSERT INTO entitled.purchase_identifier (lane, app, environment, original_transaction_id, identifier)
            SELECT lane, 'demo', 1, '2000', '2000' FROM lane
            """, [.int2(Self.key.lane.number)])
        #expect(run("customers", "show", "2000").output.hasPrefix("2000 is a purchase of Ann\n\n"))
        #expect(run("customers", "delete", "2000").errors.contains("which is a purchase of Ann: give that id"))
        #expect(run("purchases", "claim", "2000", "BEN").errors.contains("--create takes it as a new id"))
        #expect(run("purchases", "claim", "2000", "ZOE").errors.contains("2 ids differ only in case"))
        #expect(try customers.count == 5)
        #expect(run("purchases", "claim", "2000", "Ann").output == "Ann had it before\n")
    }

    private static let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "2000")

    // MARK: - Help, and the timeline

    @Test func `help says how an id is taken`() {
        let reading = words(run("customers", "show", "--help").output)
        #expect(reading.contains("In another case it is accepted if it names one customer only"))
        for command in ["alias", "transfer", "grant"] {
            let help = words(run("customers", command, "--help").output)
            #expect(help.contains("Its case counts, unless it is a UUID."))
            #expect(help.contains("--create Accept an id that no customer has"))
        }
        #expect(words(run("purchases", "claim", "--help").output).contains("--create"))
        #expect(words(run("customers", "delete", "--help").output).contains("Its case counts, unless it is a UUID."))
    }

    private func words(_ text: String) -> String {
        text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }

    @Test func `the timeline says how it is ordered`() throws {
        _ = run("customers", "grant", "Ann", "pro", "--duration", "weekly")
        let show = ["customers", "show", "Ann"]
        #expect(bench.run(show).output.contains("\nWHAT HAPPENED, in the order of signing\n"))
        #expect(bench.run(show + ["--as-heard"]).output.contains("\nWHAT HAPPENED, in the order of arrival\n"))
        #expect(run("customers", "show", "Ann", "--json").document?["timeline_order"] == .string("happened"))
        let heard = run("customers", "show", "Ann", "--as-heard", "--json").document
        #expect(heard?["timeline_order"] == .string("heard"))
        #expect(heard?["timeline"]?.arrayValue?.count == 1)
    }
}
