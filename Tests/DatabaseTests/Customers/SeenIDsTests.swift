import Base
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Which id of a customer was used last.
struct SeenIDsTests {
    private static let hour = SeenIDs.precision
    private static let device = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
    private static let made = "$RCAnonymousID:fedcba9876543210fedcba9876543210"

    private func id(_ ids: [String], seen: [String: Int64], owner: String? = nil) -> String {
        Customer(originalAppUserID: ids[0], appUserIDs: ids, firstSeen: 0, seen: seen).identity(of: owner ?? ids[0])
            .appUserID
    }

    // MARK: - Which id

    @Test func `of named ids the one that was used last counts, not the one that was made last`() {
        #expect(id(["a", "b"], seen: ["a": 2, "b": 1]) == "a")
        #expect(id(["a", "b"], seen: ["a": 1, "b": 2]) == "b")
        #expect(id(["a", "b", "c"], seen: ["a": 1]) == "a")
    }

    @Test func `of ids that none used, and at one instant, the one that was made last counts`() {
        #expect(id(["a", "b"], seen: [:]) == "b")
        #expect(id(["a", "b", "c"], seen: ["a": 5, "b": 5]) == "b")
    }

    @Test func `a named id comes before an anonymous one, though that was used later`() {
        #expect(id([Self.device, "a"], seen: [Self.device: 9]) == "a")
        #expect(id([Self.device, "a", "b"], seen: [Self.device: 9, "a": 1]) == "a")
    }

    @Test func `among anonymous ids one that a device uses comes before one that was made here`() {
        #expect(id([Self.made, Self.device], seen: [Self.device: 1], owner: Self.made) == Self.device)
        #expect(id([Self.device, Self.made], seen: [:], owner: Self.made) == Self.made)
        #expect(id([Self.device, Self.made], seen: [Self.device: 1, Self.made: 1], owner: Self.device) == Self.device)
        #expect(id([Self.device], seen: [:], owner: "gone") == "gone")
    }

    // MARK: - When it is recorded

    @Test(
        arguments: [
            (nil, nil, true), (nil, 5, true), (1000, nil, false), (1000, 999, false), (1000, 1000, true),
            (1000, 1001, true),
            (1000 - SeenIDs.precision, nil, false), (999 - SeenIDs.precision, nil, true), (2000, 1000, false),
        ] as [(Int64?, Int64?, Bool)])
    func `use is recorded by the hour, and a change of ids at once`(seen: Int64?, others: Int64?, expected: Bool) {
        #expect(SeenIDs.isDue(seen: seen, others: others, now: 1000) == expected)
    }

    /// A customer with these ids.
    private func bench(_ ids: [String]) throws -> Bench {
        let bench = try Bench()
        try CustomerTable.make([ids[0]], now: 1, on: bench.connection)
        for id in ids.dropFirst() {
            try bench.database.execute(
                "INSERT INTO entitled.app_user_id VALUES ($1, $2, 2)", [.text(id), .text(ids[0])])
        }
        return bench
    }

    private func version(_ id: String, _ bench: Bench) throws -> String {
        try bench.database.texts(
            "SELECT xmin::text || ' ' || xmax FROM entitled.app_user_id WHERE id = $1", [.text(id)])[0]
    }

    @Test func `a busy customer writes nothing, a change back and forth is seen each time, as the api and the worker`()
        throws
    {
        let bench = try bench(["a", "b"])
        let api = try bench.database.connect(role: "entitled_api")
        func used() throws -> String? {
            try CustomerTable.load(["a"], on: bench.connection)["a"]?.identity(of: "a").appUserID
        }
        #expect(try used() == "b")
        try SeenIDs.mark(["a"], now: 10_000, on: api)
        #expect(try used() == "a")
        let version = try version("a", bench)
        for _ in 0..<3 { try SeenIDs.mark(["a"], now: 10_000 + Self.hour, on: api) }
        #expect(try self.version("a", bench) == version)
        // Also where the clock of the host says that it was before.
        try SeenIDs.mark(["b"], now: 9000, on: bench.connection)
        #expect(try used() == "b")
        try SeenIDs.mark(["a"], now: 9000, on: api)
        #expect(try used() == "a")
        #expect(try bench.database.count("SELECT last_seen_ms FROM entitled.app_user_id WHERE id = 'a'") == 10_002)
        try SeenIDs.mark(["a"], now: 20_000 + Self.hour, on: api)
        #expect(
            try bench.database.count("SELECT last_seen_ms FROM entitled.app_user_id WHERE id = 'a'")
                == 20_000 + Self.hour)
        try SeenIDs.mark([], now: 1, on: api)
        try SeenIDs.mark(["nobody"], now: 1, on: api)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.app_user_id") == 2)
    }

    @Test func `recording waits for no lock`() throws {
        let bench = try bench(["a", "b"])
        let holder = try bench.database.connect()
        try holder.transaction {
            try holder.query("SELECT 1 FROM entitled.app_user_id WHERE id = 'a' FOR UPDATE")
            try bench.connection.execute(script: "SET lock_timeout = '5s'")
            try SeenIDs.mark(["a", "b"], now: 5, on: bench.connection)
        }
        let customer = try CustomerTable.load(["a"], on: bench.connection)["a"]
        #expect(customer?.seen == ["b": 5])
    }

    @Test func `an id that the api makes is used, one that a worker makes is not`() throws {
        let bench = try Bench()
        _ = try CustomerTable.makeMissing(["a"], isSeen: true, now: 7, on: bench.connection)
        _ = try CustomerTable.makeMissing(["b"], now: 7, on: bench.connection)
        let found = try CustomerTable.load(["a", "b"], on: bench.connection)
        #expect(found["a"]?.seen == ["a": 7] && found["b"]?.seen == [:])
    }
}
