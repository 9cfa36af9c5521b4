import Base
import Customers
import Database
import Postgres
import Schemas
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Where the purchases of an owner and of an account lie, as a coordinator notes it; on one Postgres that says to be one.
@Suite struct PurchaseLanesTests {
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))

    /// Some lives, applied.
    private func furnished(_ seed: UInt64) throws -> Installation {
        let installation = try Installation(database: ImitatedServers.makeDatabase())
        #expect(!installation.groups.isOne)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let now = SystemClock().now()
        let notifications = (0..<8).flatMap {
            Scenario.year.notifications(app: Installation.app, seed: seed, number: UInt64($0), until: now)
        }
        try installation.postAll(notifications)
        try installation.untilApplied(Int64(Set(notifications.map(\.uuid)).count))
        return installation
    }

    private static let owners = "SELECT owner || ' ' || lane FROM entitled.owner_lane ORDER BY 1"
    private static let accounts = "SELECT account || ' ' || lane FROM entitled.account_lane ORDER BY 1"

    /// What the purchases say.
    private func expected(_ database: TestDatabase) throws -> (owners: Set<String>, accounts: Set<String>) {
        (
            Set(try database.texts("SELECT owner || ' ' || lane FROM entitled.purchase")),
            Set(try database.texts("SELECT account || ' ' || lane FROM entitled.purchase WHERE account IS NOT NULL"))
        )
    }

    private func rebuild(_ installation: Installation, isDry: Bool) throws -> (total: RebuildTotals, lanes: Int) {
        var lanes = 0
        let total = try RecordRebuild(
            patience: .seconds(86_400), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), isDry: isDry
        ).run(on: try installation.database.connect(role: "entitled_worker"), progress: { _ in }) {
            if $0.member == "lane" { lanes += 1 }
        }
        return (total, lanes)
    }

    @Test func `lanes are noted with purchases, asked for, and made again by a rebuild`() throws {
        let installation = try furnished(481)
        let database = installation.database
        let connection = try database.connect(role: "entitled_worker")
        #expect(connection.isCluster)
        let expected = try expected(database)
        #expect(expected.owners.count > 4)
        #expect(Set(try database.texts(Self.owners)).isSuperset(of: expected.owners))
        #expect(Set(try database.texts(Self.accounts)).isSuperset(of: expected.accounts))
        let owner = try database.texts("SELECT owner FROM entitled.purchase ORDER BY 1 LIMIT 1")[0]
        let owned = try PurchaseTable.owned(by: [owner], on: connection)
        #expect(!owned.isEmpty)
        let query = SubscriberQuery(foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        func snapshots() throws -> Int? { try query.find([owner], on: connection).first??.snapshots.count }
        #expect(try snapshots() == owned.count)

        // Nothing else is asked.
        try database.execute("DELETE FROM entitled.owner_lane WHERE owner = $1", [.text(owner)])
        #expect(try PurchaseTable.owned(by: [owner], on: connection).isEmpty)
        #expect(try snapshots() == 0)
        try database.execute("DELETE FROM entitled.account_lane")
        let count = try database.count("SELECT count(*) FROM entitled.purchase WHERE account IS NOT NULL")
        #expect(try rebuild(installation, isDry: true).lanes == Int(count))
        let noted = try database.texts(Self.accounts)
        #expect(noted.isEmpty)
        #expect(try rebuild(installation, isDry: false).lanes > 0)
        #expect(try rebuild(installation, isDry: true).lanes == 0)
        #expect(try PurchaseTable.owned(by: [owner], on: connection) == owned)
        #expect(Set(try database.texts(Self.accounts)).isSuperset(of: expected.accounts))
    }

    @Test func `renewals write nothing of lanes`() throws {
        let installation = try furnished(482)
        let database = installation.database
        let written = """
            SELECT count(DISTINCT xmin::text) FROM (
                SELECT xmin FROM entitled.owner_lane UNION ALL SELECT xmin FROM entitled.account_lane) AS rows
            """
        let before = try database.count(written)
        let rows = try database.texts(Self.owners)
        var life = SubscriberLife(app: Installation.app, seed: 482, number: 900)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.postAll([life.start(at: Installation.start)])
        let done = try database.count("SELECT count(*) FROM entitled.notification")
        try installation.untilApplied(done)
        #expect(try database.count(written) == before + 1)
        #expect(try database.texts(Self.owners).count == rows.count + 1)
        try installation.postAll([life.autoRenewOff(at: Installation.start + 3_600_000)])
        try installation.untilApplied(done + 1)
        #expect(try database.count(written) == before + 1)
    }

    @Test func `transfers, grants and deletions are followed`() throws {
        let installation = try furnished(483)
        let database = installation.database
        let connection = try database.connect(role: "entitled_worker")
        let owners = try database.texts("SELECT DISTINCT owner FROM entitled.purchase ORDER BY 1 LIMIT 2")
        let (from, gone) = (owners[0], owners[1])
        let moved = try PurchaseTable.owned(by: [from], on: connection)
        _ = try actions.transfer(from: from, to: "user-other", on: connection)
        #expect(try PurchaseTable.owned(by: ["user-other"], on: connection) == moved)
        // What was granted lies in another lane.
        _ = try actions.grant("pro", to: gone, .lasting(.weekly), on: connection)
        let left = try PurchaseTable.owned(by: [gone], on: connection)
        #expect(left.contains { $0.isGrant })
        _ = try actions.delete(gone, on: connection)
        #expect(try database.count("SELECT count(*) FROM entitled.owner_lane WHERE owner = $1", [.text(gone)]) == 0)
        #expect(Set(try database.texts(Self.owners)).isSuperset(of: try expected(database).owners))
        let new = try PurchaseTable.owners(left, on: connection).compactMap { $0 }
        #expect(Set(try PurchaseTable.owned(by: new, on: connection)) == Set(left))
    }

    /// What `migrate` notes of a database that was not a cluster's is what programs note.
    @Test func `what is noted when tables are placed is what was noted with them`() throws {
        let installation = try furnished(484)
        let database = installation.database
        let connection = try database.connect(role: "entitled_worker")
        // A purchase that goes on as another one, in another lane.
        let former = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000000000000001")
        let key = try #require(
            (2...).lazy.map {
                PurchaseKey(app: "demo", environment: .production, originalTransactionID: "200000000000\($0)")
            }.first { $0.lane != former.lane })
        try PurchaseTable.identify([("continues:\(former.originalTransactionID)", key)], on: connection)
        let noted = (try database.texts(Self.owners), try database.texts(Self.accounts))
        #expect(noted.1.contains { $0.hasSuffix(" \(key.lane.number)") })
        try database.connect().execute(script: Distribution.noting)
        #expect(try database.texts(Self.owners) == noted.0)
        #expect(try database.texts(Self.accounts) == noted.1)
        #expect(
            try database.texts("SELECT DISTINCT oldest_program::text FROM entitled.schema_version WHERE version >= 48")
                == ["48"])
    }

    private static let locks = """
        SELECT count(*) FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 4801 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    /// Until its transaction has ended on every server, which the lock of a row does not do.
    @Test func `an account is held, and an owner's purchases are waited for`() throws {
        let installation = try furnished(485)
        let database = installation.database
        let connection = try database.connect(role: "entitled_worker")
        let owner = try database.texts("SELECT owner FROM entitled.purchase ORDER BY 1 LIMIT 1")[0]
        let key = try #require(try PurchaseTable.owned(by: [owner], on: connection).first)
        let settlement = OwnerSettlement(salt: OwnerSalt(), foldSettings: FoldSettings(defaultGrace: .zero))
        try connection.transaction {
            try settlement.hold([key], on: connection)
            #expect(try database.count(Self.locks) == 1)
        }
        #expect(try database.count(Self.locks) == 0)
        // A transaction that gives something to an id is waited for by those that must see it, whatever rows it holds.
        let waiting = try connection.transaction {
            try PurchaseTable.setOwners([(key, "person")], now: 0, on: connection)
            let waiting = TestThread {
                let other = try database.connect(role: "entitled_api")
                return try other.transaction {
                    try PurchaseLanes.awaitGiven(to: ["other", "person"], on: other)
                    return try PurchaseTable.owned(by: ["person"], on: other)
                }
            }
            try database.untilBlocked()
            return waiting
        }
        #expect(try waiting.value() == [key])
    }
}
