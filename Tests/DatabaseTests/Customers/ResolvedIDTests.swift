import Base
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Whom an id names that an operator gave.
struct ResolvedIDTests {
    private typealias Candidate = ResolvedID.Candidate

    private func candidates(_ ids: [(String, String)]) -> [ResolvedID.Candidate] {
        ids.map { ResolvedID.Candidate(id: $0.0, originalAppUserID: $0.1) }
    }

    private func resolve(
        _ given: String, isUUID: Bool = false, _ caseless: [(String, String)] = [], owners: [(String, String)] = []
    ) -> ResolvedID {
        ResolvedID(given, isUUID: isUUID, caseless: candidates(caseless), owners: candidates(owners))
    }

    @Test func `an id that is one is taken as it is, whatever is near it`() {
        let zoe = resolve("zoe", [("Zoe", "Zoe"), ("zoe", "zoe"), ("ZOE", "zoe")], owners: [("ann", "ann")])
        #expect(zoe.match == .exact && zoe.appUserID == "zoe")
        // ZOE is an alias of zoe: there is nobody to be mistaken for.
        #expect(zoe.spellings.map(\.id) == ["Zoe"])
    }

    @Test func `a UUID names the same customer in every case, unless there are two`() {
        let one = resolve("AB", isUUID: true, [("ab", "root"), ("Ab", "root")])
        #expect(one.match == .uuid && one.appUserID == "ab" && one.spellings.isEmpty)
        let two = resolve("AB", isUUID: true, [("ab", "root"), ("Ab", "other")])
        #expect(two.match == nil && two.appUserID == nil)
        #expect(two.spellings.map(\.id) == ["ab", "Ab"])
    }

    @Test func `an id in another case is told apart from one that is the same`() {
        let one = resolve("KIM", [("Kim", "Kim"), ("kim", "Kim")])
        #expect(one.match == .letterCase && one.appUserID == "Kim")
        #expect(one.spellings.map(\.id) == ["Kim", "kim"])
        #expect(resolve("KIM", [("Kim", "Kim"), ("kim", "kim")]).match == nil)
    }

    @Test func `what a purchase is known by names its owner, unless several customers own one`() {
        let one = resolve("2000", owners: [("ann", "ann")])
        #expect(one.match == .purchase && one.appUserID == "ann")
        #expect(resolve("2000", owners: [("ann", "ann"), ("ben", "ben")]).match == nil)
        #expect(resolve("2000").match == nil)
        // A purchase is surer than another case, and two of them make nothing sure.
        #expect(resolve("a1", [("A1", "A1")], owners: [("ann", "ann")]).appUserID == "ann")
        #expect(resolve("a1", [("A1", "A1")], owners: [("ann", "ann"), ("ben", "ben")]).match == nil)
    }

    // MARK: - In a database

    private func own(_ original: String, app: String, by owner: String, _ bench: Bench) throws {
        let key = PurchaseKey(app: app, environment: .production, originalTransactionID: original)
        try PurchaseTable.write(
            [
                PurchaseRecord(
                    key: key, owner: owner, productID: "pro", accessEnds: nil, graceEnds: nil, revoked: nil,
                    willRenew: true, wake: nil)
            ], now: 1, on: bench.connection)
        try PurchaseTable.identify([(original, key)], on: bench.connection)
    }

    @Test func `the database is asked in the same way for every command, also as the role that reads`() throws {
        let bench = try Bench()
        let uuid = "dddddddd-1111-4111-8111-00000000beef"
        for (place, id) in ["Zoe", "zoe", "Kim", "ann", "ben", uuid].enumerated() {
            try CustomerTable.make([id], now: Int64(place), on: bench.connection)
        }
        try own("2000", app: "demo", by: "ann", bench)
        try own("3000", app: "demo", by: "ann", bench)
        try own("3000", app: "other", by: "ben", bench)
        let reader = try bench.database.connect(role: "entitled_api")
        func resolve(_ id: String) throws -> ResolvedID { try CustomerQuery.resolve(id, on: reader) }
        #expect(try resolve("zoe").match == .exact)
        #expect(try resolve("zoe").spellings.map(\.id) == ["Zoe"])
        #expect(try resolve("ZOE").match == nil)
        #expect(try resolve("ZOE").spellings.map(\.id) == ["Zoe", "zoe"])
        #expect(try resolve("kIm").appUserID == "Kim")
        #expect(try resolve("kIm").match == .letterCase)
        #expect(try resolve(uuid.uppercased()).match == .uuid)
        #expect(try resolve(uuid.uppercased()).appUserID == uuid)
        #expect(try resolve("2000").appUserID == "ann")
        #expect(try resolve("3000").match == nil)
        #expect(try resolve("3000").owners.map(\.id).sorted() == ["ann", "ben"])
        #expect(try resolve("nothing") == ResolvedID("nothing", isUUID: false, caseless: [], owners: []))
        // One customer with both: then it does not matter which is meant.
        try bench.connection.transaction {
            let roots = try CustomerTable.lock(["ann", "ben"], on: bench.connection).compactMap { $0 }
            _ = try CustomerTable.unite(roots[0], roots[1], on: bench.connection)
        }
        #expect(try resolve("3000").match == .purchase)
    }

    @Test func `two spellings of one character are one id`() throws {
        let bench = try Bench()
        try CustomerTable.make(["jos\u{e9}"], now: 1, on: bench.connection)
        #expect(try CustomerQuery.resolve("jose\u{301}", on: bench.connection).match == .exact)
    }
}
