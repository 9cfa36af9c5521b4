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

/// Grants to many customers, step by step, while the customers change.
struct BulkGrantTests {
    private let bench: ChangeFixture
    private let worker: PostgresConnection
    private let settings = BulkGrantSettings(entitlements: [ChangeFixture.entitlement], foldSettings: FoldSettings())
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
    private static let duration = JSON.Member(name: "duration", value: .string("monthly"))

    init() throws {
        bench = try ChangeFixture()
        worker = try bench.worker()
    }

    private func ask(
        _ rows: BulkSelection.Rows, as user: String = "support", term: JSON.Member = duration,
        entitlement: String = ChangeFixture.entitlement, key: String = "k1"
    ) throws -> Int64 {
        let selection = BulkSelection(rows, until: SystemClock().now())
        let members =
            (selection.json.members ?? [])
            + [JSON.Member(name: "entitlement", value: .string(entitlement)), term]
        return try bench.ask(
            ChangeFixture.request(.bulkGrant, "customers", .object(members), as: user, reason: "a present", key: key))
    }

    private func runner() -> any JobRunner {
        BulkWork.kinds(granting: settings).first { $0.name == ChangeKind.bulkGrant.rawValue }?.make()
            ?? BulkWork(granting: settings)
    }

    private func run(_ id: Int64) throws -> Job {
        try JobDriver(id, kinds: BulkWork.kinds(granting: settings)).attend(on: worker, rest: { _ in }) { _, _ in false
        }
    }

    private func step(_ id: Int64) throws -> Job {
        let lease = try #require(try JobLease.take(id, driver: [UInt8](repeating: 7, count: 16), on: worker))
        defer { try? lease.release(on: worker) }
        var runner = runner()
        return try runner.step(lease, on: worker).job
    }

    private func outcome(_ id: Int64) throws -> JSON {
        try JSON(parsing: Array((try bench.change(id).outcome ?? "null").utf8))
    }

    private func add(_ numbers: ClosedRange<Int>) throws {
        for number in numbers { try bench.addCustomer("user-\(number)") }
    }

    private func events() throws -> Int64 {
        try bench.database.count("SELECT count(*) FROM entitled.event WHERE type = 'NON_RENEWING_PURCHASE'")
    }

    @Test func `each customer of a time gets it once, with an action and an event, and the audit has the job`() throws {
        try add(1...60)
        let id = try ask(.customers)
        let done = try run(id)
        #expect(done.state == .done && done.counts == JobCounts(matched: 61, queued: 61, skipped: 0), "\(done)")
        #expect(try bench.grants() == 61 && events() == 61)
        #expect(
            try bench.database.texts("SELECT DISTINCT actor || ' ' || reason FROM entitled.action WHERE kind = 'grant'")
                == ["support a present"])
        #expect(
            try bench.database.count("SELECT count(DISTINCT owner) FROM entitled.purchase WHERE app = '$promotional'")
                == 61)
        #expect(try bench.audit() == ["support bulk_grant customers done \(id)"])
        // What was asked for is forgotten, and with it the salt from which ids could be guessed.
        let (parameters, cursor) = (try bench.change(id).parameters, done.cursor)
        #expect(parameters == "{}" && cursor == ["{}"], "\(parameters) \(cursor)")
        // Again within two hours it is a repetition.
        let again = try run(try ask(.customers, key: "k2"))
        #expect(again.counts == JobCounts(matched: 61, queued: 0, skipped: 61) && again.state == .done)
        #expect(try bench.grants() == 61)
    }

    @Test func `ids of one customer are granted once, also of customers who became one hours later`() throws {
        try add(1...40)
        _ = try actions.alias("user-1", "alias-1", on: worker)
        // The alias stands behind the first step, and so does a customer who is joined with a granted one.
        let ids = (1...30).map { "user-\($0)" } + ["alias-1", "anna"]
        let id = try ask(.customerIDs(ids))
        let first = try step(id)
        #expect(first.state == .running && first.counts.queued == Int64(CustomerBulk.limit), "\(first)")
        // Three hours pass, in which what was granted is not a repetition any more.
        try bench.database.execute(
            "UPDATE entitled.fact SET signed_ms = signed_ms - 10800000 WHERE app = '$promotional'")
        _ = try actions.alias("user-2", "anna", on: worker)
        let done = try run(id)
        #expect(done.state == .done, "\(done)")
        let told = try outcome(id)
        #expect(told["skipped"]?["same_customer"] == .int(2), "\(told.text)")
        #expect(done.counts == JobCounts(matched: 32, queued: 30, skipped: 2))
        #expect(try bench.grants() == 30)
    }

    @Test(arguments: [true, false])
    func `a customer who is deleted meanwhile is left out and named nowhere, and the others get it`(
        comesBack: Bool
    ) throws {
        try add(1...30)
        let ids = (1...30).map { "user-\($0)" } + ["anna"]
        let id = try ask(.customerIDs(ids))
        _ = try step(id)
        let deletion = try actions.delete("anna", on: worker)
        if comesBack { try bench.addCustomer("anna") }
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(deletion.id, on: worker) == .more {}
        let waiting = try bench.database.texts("SELECT row_to_json(j)::text FROM entitled.job j")
        #expect(waiting.count == 1 && !waiting[0].contains("anna") && waiting[0].contains("user-30"), "\(waiting)")
        let done = try run(id)
        #expect(done.state == .done && done.counts == JobCounts(matched: 31, queued: 30, skipped: 1), "\(done)")
        #expect(try outcome(id)["skipped"] == .object(["unknown": .int(1)]))
        #expect(try bench.database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'anna'") == 0)
        let left = try bench.database.texts(
            "SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        )
        #expect(left.allSatisfy { !$0.contains("anna") && !$0.contains("user-") }, "\(left)")
    }

    @Test func `the hash of a request that named customers goes with the deletion of any of them`() throws {
        func hashes() throws -> [String] {
            try bench.database.texts("SELECT encode(request_hash, 'hex') FROM entitled.job ORDER BY id")
        }
        let done = try ask(.customerIDs(["anna"]))
        _ = try run(done)
        let waiting = try ask(.customerIDs(["anna", "ben"]), key: "k2")
        let before = try hashes()
        let deletion = try actions.delete("anna", on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(deletion.id, on: worker) == .more {}
        let after = try hashes()
        #expect(zip(before, after).allSatisfy { $0 != $1 } && after.count == 2)
        #expect(try run(waiting).state == .done)
    }

    @Test func `what cannot be granted, or to so many, is refused before anything is done`() throws {
        let tooLate = try ask(.customers, term: JSON.Member(name: "until", value: .int(1)), key: "1")
        #expect(try run(tooLate).error?.contains("would have ended before it begins") == true)
        let unknown = try ask(.customers, entitlement: "gold", key: "2")
        #expect(try run(unknown).error?.contains("not in the configuration") == true)
        let forbidden = try ask(.customers, as: "integrator", key: "3")
        #expect(try run(forbidden).error?.contains("needs one of: support, operator") == true)
        let endless = try ask(.customers, term: JSON.Member(name: "until", value: .string("infinity")), key: "4")
        #expect(try run(endless).error?.contains("neither a duration nor an end") == true)
        let wide = try bench.ask(
            ChangeFixture.request(
                .bulkGrant, "customers",
                .object([
                    "customers": .object([JSON.Member]()), "since_ms": .string("-infinity"), "until_ms": .int(1 << 42),
                    "entitlement": .string("pro"), "duration": .string("monthly"),
                ]), key: "5"))
        #expect(try run(wide).error?.contains("cannot be read") == true)
        try bench.database.execute(
            """
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            SELECT 'many ' || n, 1000 FROM generate_series(1, $1) n
            """, [.int8(Int64(CustomerBulk.most))])
        let many = try ask(.customers, key: "6")
        #expect(try run(many).error == BulkWork.tooMany)
        #expect(try bench.grants() == 0)
    }

    /// - Parameter condition: of the purchase that is made, as NEW.
    private func breakGrants(_ condition: String) throws {
        try bench.database.execute(
            """
            CREATE FUNCTION entitled.break_grants() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF \(condition) THEN RAISE EXCEPTION 'broken: %', NEW.owner; END IF; RETURN NEW; END $$
            """)
        try bench.database.execute(
            """
            CREATE TRIGGER break_grants BEFORE INSERT ON entitled.purchase
            FOR EACH ROW EXECUTE FUNCTION entitled.break_grants()
            """)
    }

    @Test(arguments: ["anna", "user-7", "user-40"])
    func `a customer with whom a grant fails is left out, and the others get it`(broken: String) throws {
        try add(1...40)
        try breakGrants("NEW.owner = '\(broken)'")
        let id = try ask(.customers)
        let done = try run(id)
        #expect(done.state == .done && done.counts == JobCounts(matched: 41, queued: 40, skipped: 1), "\(done)")
        #expect(try outcome(id)["skipped"] == .object(["failed": .int(1)]))
        #expect(try bench.grants() == 40)
        // The same of ids.
        let term = JSON.Member(name: "duration", value: .string("weekly"))
        let named = try run(
            try ask(.customerIDs((1...40).map { "user-\($0)" } + ["anna"]), term: term, key: "k2"))
        #expect(named.counts == JobCounts(matched: 41, queued: 40, skipped: 1), "\(named)")
    }

    @Test(arguments: [true, false])
    func `a job that is refused or fails in the middle keeps no salt, and says that it granted`(
        isRefused: Bool
    ) throws {
        try add(1...60)
        let id = try ask(.customers)
        let first = try step(id)
        #expect(first.cursor.count == 5 && first.fraction == 25.0 / 61, "\(first)")
        if isRefused {
            #expect(try ConsoleUserTable.remove("support", now: 2, on: worker))
        } else {
            try breakGrants("true")
        }
        let ended = try run(id)
        #expect(ended.state == .failed && ended.cursor.count == 1, "\(ended)")
        #expect(ended.error?.contains("25 customers have the grant: asked for again after more than two") == true)
        #expect(try bench.grants() == 25)
    }

    @Test func `grants wait while an endpoint that gets their events has much due`() throws {
        try add(1...5)
        try bench.database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
            SELECT n % 256, md5(n::text)::uuid, 'ep_1', md5(n::text)::uuid, 'RENEWAL', 0, 1000, 1000
            FROM generate_series(1, 256) n
            """)
        let id = try ask(.customers)
        let waiting = try step(id)
        #expect(waiting.state == .running && waiting.cursor == [] && waiting.counts.matched == 0, "\(waiting)")
        // It waits for no endpoint that does not get them.
        try bench.database.execute("UPDATE entitled.endpoint SET events = '{EXPIRATION}'")
        #expect(try step(id).counts.queued == 6)
    }

    @Test func `the hash of a request goes where any customer was deleted before it ended`() throws {
        func hash(_ id: Int64) throws -> [String] {
            try bench.database.texts("SELECT encode(request_hash, 'hex') FROM entitled.job WHERE id = $1", [.int8(id)])
        }
        try add(1...2)
        let (done, cancelled) = (
            try ask(.customerIDs(["user-1"])), try ask(.customerIDs(["user-2"]), key: "k2")
        )
        let before = (try hash(done), try hash(cancelled))
        _ = try actions.delete("anna", on: worker)
        #expect(try run(done).state == .done)
        #expect(
            try bench.ending(
                of: ChangeFixture.request(.jobCancel, String(cancelled), as: "operator", key: "k3"))?.outcome == .done)
        #expect(try hash(done) != before.0 && hash(cancelled) != before.1)
    }

    @Test func `a job that is cancelled ends where it is, and keeps no salt and no id`() throws {
        try add(1...40)
        let id = try ask(.customerIDs((1...40).map { "user-\($0)" }))
        _ = try step(id)
        _ = try worker.transaction { try ChangeTable.cancel(id, by: "carl", on: worker) }
        let job = try #require(try JobTable.find(id, on: worker))
        #expect(job.state == .cancelled && job.counts.queued == 25 && job.cursor.count == 1, "\(job)")
        #expect(job.error?.contains("25 customers have the grant") == true)
        #expect(try bench.change(id).parameters == "{}" && bench.grants() == 25)
    }
}
