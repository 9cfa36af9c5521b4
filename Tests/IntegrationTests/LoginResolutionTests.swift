import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// RevenueCat's table of logging in, and what it leaves open.
@Suite struct LoginResolutionTests {
    static let one = "$RCAnonymousID:11111111111111111111111111111111"
    static let two = "$RCAnonymousID:22222222222222222222222222222222"
    static let lower = "aaaaaaaa-0000-4000-8000-00000000000a"

    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Customers who are there, in the order in which they came; of each the original id, then the others.
        let before: [[String]]
        let current: String
        let target: String
        let isNew: Bool
        let after: [[String]]

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "anonymous, to an id that nobody has", before: [[one]], current: one, target: "bob", isNew: true,
            after: [[one, "bob"]]),
        Row(
            name: "anonymous, to somebody without an anonymous id", before: [["bob"], [one]], current: one,
            target: "bob", isNew: false, after: [["bob", one]]),
        Row(
            name: "the same where the anonymous one came first", before: [[one], ["bob"]], current: one, target: "bob",
            isNew: false, after: [[one, "bob"]]),
        Row(
            name: "anonymous, to somebody with an anonymous id", before: [[two, "bob"], [one]], current: one,
            target: "bob", isNew: false, after: [[two, "bob"], [one]]),
        Row(
            name: "somebody, to an id that nobody has", before: [["al"]], current: "al", target: "bob", isNew: true,
            after: [["al"], ["bob"]]),
        Row(
            name: "somebody, to somebody else", before: [["al"], ["bob"]], current: "al", target: "bob", isNew: false,
            after: [["al"], ["bob"]]),
        Row(
            name: "the same id", before: [["bob"]], current: "bob", target: "bob", isNew: false, after: [["bob"]]),
        Row(
            name: "the same id, which nobody has", before: [], current: "bob", target: "bob", isNew: true,
            after: [["bob"]]),
        Row(
            name: "an anonymous id never seen, to an id that nobody has", before: [], current: one, target: "bob",
            isNew: true, after: [[one, "bob"]]),
        Row(
            name: "the same with an id that comes first in any order", before: [], current: one, target: "!x",
            isNew: true, after: [[one, "!x"]]),
        Row(
            name: "an anonymous id never seen, to somebody", before: [["bob"]], current: one, target: "bob",
            isNew: false, after: [["bob", one]]),
        Row(
            name: "an anonymous id never seen, to somebody with an anonymous id", before: [[two, "bob"]], current: one,
            target: "bob", isNew: false, after: [[two, "bob"]]),
        Row(
            name: "a name never seen, to an id that nobody has", before: [], current: "al", target: "bob", isNew: true,
            after: [["bob"]]),
        Row(
            name: "a name never seen, to somebody", before: [["bob"]], current: "al", target: "bob", isNew: false,
            after: [["bob"]]),
        Row(
            name: "the anonymous id of somebody, to an id that nobody has", before: [[one, "bob"]], current: one,
            target: "carol", isNew: true, after: [[one, "bob"], ["carol"]]),
        Row(
            name: "the anonymous id of somebody, to them", before: [[one, "bob"]], current: one, target: "bob",
            isNew: false, after: [[one, "bob"]]),
        Row(
            name: "aliases of both, somebody to somebody", before: [["al", "al-2"], ["bob", "bob-2"]],
            current: "al-2", target: "bob-2", isNew: false, after: [["al", "al-2"], ["bob", "bob-2"]]),
        Row(
            name: "aliases of both, anonymous to somebody", before: [[one, two], ["bob", "bob-2"]], current: two,
            target: "bob-2", isNew: false, after: [[one, two, "bob", "bob-2"]]),
        Row(
            name: "an id that differs in case is another person's", before: [["Bob"], [one]], current: one,
            target: "bob", isNew: true, after: [["Bob"], [one, "bob"]]),
        Row(
            name: "a UUID that differs in case is the same person's", before: [[lower], [one]], current: one,
            target: lower.uppercased(), isNew: false, after: [[lower, lower.uppercased(), one]]),
        Row(
            name: "somebody, to a UUID that differs in case", before: [["al"], [lower]], current: "al",
            target: lower.uppercased(), isNew: false, after: [["al"], [lower, lower.uppercased()]]),
        Row(
            name: "anonymous, to an anonymous id that nobody has", before: [[one]], current: one, target: two,
            isNew: true, after: [[one, two]]),
        Row(
            name: "anonymous, to somebody else anonymous", before: [[one], [two]], current: one, target: two,
            isNew: false, after: [[one], [two]]),
        Row(
            name: "somebody, to an anonymous id that nobody has", before: [["al"]], current: "al", target: two,
            isNew: true, after: [["al"], [two]]),
    ]

    /// Of each customer the original id, then the others.
    private func groups(_ database: TestDatabase) throws -> Set<[String]> {
        Set(
            try database.texts(
                """
                SELECT c.original_app_user_id || coalesce(string_agg(' ' || a.id, '' ORDER BY a.id)
                    FILTER (WHERE a.id <> c.original_app_user_id), '')
                FROM entitled.app_user_id a JOIN entitled.customer c USING (original_app_user_id)
                GROUP BY c.original_app_user_id
                """
            ).map { $0.split(separator: " ").map(String.init) })
    }

    private func expected(_ groups: [[String]]) -> Set<[String]> {
        Set(groups.map { $0.prefix(1) + $0.dropFirst().sorted() })
    }

    @Test(arguments: LoginResolutionTests.rows)
    func `each row of the table`(row: Row) throws {
        let installation = try Installation()
        let database = installation.database
        // As the role that answers apps.
        let connection = try database.connect(role: "entitled_api")
        for (place, ids) in row.before.enumerated() {
            guard let first = ids.first else { continue }
            try CustomerTable.make([first], now: Installation.start + Int64(place), on: connection)
            for id in ids.dropFirst() { _ = try actions.alias(first, id, on: connection) }
        }
        try #require(try groups(database) == expected(row.before))
        let before = try database.count("SELECT count(*) FROM entitled.action")
        #expect(try actions.identify(row.current, as: row.target, on: connection) == row.isNew)
        #expect(try groups(database) == expected(row.after))
        let after = try database.count("SELECT count(*) FROM entitled.action")
        #expect((after > before) == (Set(row.before.map(Set.init)) != Set(row.after.map(Set.init)) && hasJoined(row)))
        // The app did not get the answer, and asks again.
        #expect(try actions.identify(row.current, as: row.target, on: connection) == false)
        #expect(try groups(database) == expected(row.after))
        #expect(try database.count("SELECT count(*) FROM entitled.action") == after)
        try installation.expectNoDifferences()

        // From the log alone everything that was joined comes back, under the same original ids.
        try database.execute("DELETE FROM entitled.app_user_id")
        try database.execute("DELETE FROM entitled.customer")
        _ = try RecordRebuild(patience: .zero, foldSettings: FoldSettings(), isDry: false).run(
            on: try database.connect(role: "entitled_worker"), progress: { _ in }, found: { _ in })
        #expect(try groups(database) == expected(row.after.filter { $0.count > 1 }))
    }

    private func hasJoined(_ row: Row) -> Bool {
        let known = Set(row.before.map(Set.init))
        return row.after.contains { $0.count > 1 && !known.contains(Set($0)) }
    }

    @Test(arguments: ["", "null", "a/b", "[object Object]", String(repeating: "x", count: 101)])
    func `an id that can name nobody is refused on either side`(id: String) throws {
        let installation = try Installation()
        let connection = try installation.database.connect(role: "entitled_api")
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try actions.identify(id, as: "bob", on: connection)
        }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try actions.identify(LoginResolutionTests.one, as: id, on: connection)
        }
        #expect(try groups(installation.database).isEmpty)
    }

    @Test func `purchases stay with the customer who logs in, and only a device's id keeps another device apart`()
        throws
    {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var lives = (UInt64(1)...2).map { SubscriberLife(app: Installation.app, seed: 70, number: $0) }
        // One after the other: of two customers who become one, the older one stays.
        for place in lives.indices {
            try installation.postAll([lives[place].start(at: Installation.start).withoutToken])
            try installation.untilApplied(Int64(place + 1))
        }
        let connection = try installation.database.connect(role: "entitled_api")
        func found(_ id: String) throws -> CustomerQuery.Found {
            try #require(try CustomerQuery.find(anyID: id, foldSettings: FoldSettings(), on: connection))
        }
        let owners = try lives.map { try found($0.latest.originalID).customer.originalAppUserID }
        #expect(try actions.identify(owners[0], as: "bob", on: connection))
        // The ids of Apple accounts are no devices': bob has no device yet.
        #expect(try !actions.identify(owners[1], as: "bob", on: connection))
        let bob = try found("bob")
        #expect(bob.customer.originalAppUserID == owners[0])
        #expect(Set(bob.purchases.map(\.key.originalTransactionID)) == Set(lives.map(\.latest.originalID)))
        let device = "$RCAnonymousID:00000000000000000000000000000abc"
        try actions.admit(device, on: connection)
        #expect(try !actions.identify(device, as: "bob", on: connection))
        #expect(try found(device).customer.originalAppUserID == owners[0])
        let other = "$RCAnonymousID:00000000000000000000000000000def"
        try actions.admit(other, on: connection)
        #expect(try !actions.identify(other, as: "bob", on: connection))
        #expect(try found(other).customer.originalAppUserID == other)
        try installation.expectNoDifferences()
    }

    @Test func `many who log in at once with one new name are one new customer, and one of them made it`() throws {
        let installation = try Installation()
        let database = installation.database
        let actions = actions
        let threads = (0..<16).map { number in
            TestThread {
                try actions.identify(
                    "$RCAnonymousID:\(String(repeating: "0", count: 30))\(10 + number)", as: "bob",
                    on: try database.connect(role: "entitled_api"))
            }
        }
        #expect(try threads.map { try $0.value() }.count { $0 } == 1)
        // The others found somebody with an anonymous id.
        #expect(try groups(database).map(\.count) == [2])
        try installation.expectNoDifferences()
    }
}
