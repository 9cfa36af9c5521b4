import Base
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@testable import Customers

/// A server of a cluster that dies within a commit in two phases: the coordinator has committed, and what was new on the server is not
/// seen there until Citus commits it. Nothing is decided without it meanwhile.
@Suite struct InterruptedCommitTests {
    private let installation: Installation
    private let servers: [TestCluster]

    init() throws {
        let cluster = try TestCluster()
        if cluster.servers.isEmpty {
            try PostgresConnection(PostgresTarget(url: cluster.url)).query(
                "ALTER SYSTEM SET max_prepared_transactions = 10")
            try cluster.restart()
        }
        let database = try ImitatedServers.makeDatabase(of: cluster)
        let connection = try database.connect()
        if !cluster.servers.isEmpty {
            try connection.query("ALTER SYSTEM SET citus.recover_2pc_interval = -1")
            try connection.query("SELECT pg_reload_conf()")
        }
        installation = try Installation(cluster, database: database)
        servers = cluster.servers
    }

    private static let account = "704700000000001"

    /// A purchase of the account: of all of them, only those with a token say whose they are.
    private func life(_ number: UInt64, token: String?) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: 7, number: number)
        life.account.appTransactionID = Self.account
        life.account.token = token
        return life
    }

    private func key(_ life: SubscriberLife) -> PurchaseKey {
        PurchaseKey(
            app: "demo", environment: .production, originalTransactionID: life.transaction(.period(0)).originalID)
    }

    /// The server that has the purchase, and the name of its table there.
    private func place(of key: PurchaseKey) throws -> (connection: PostgresConnection, table: String) {
        guard !servers.isEmpty else { return (try installation.database.connect(), "entitled.purchase") }
        let row = try installation.database.connect().query(
            """
            SELECT p.nodename, 'entitled.purchase_' || p.shardid AS name FROM pg_dist_shard_placement p
            WHERE p.shardid = get_shard_id_for_distribution_column('entitled.purchase', $1)
            """, [.int2(key.lane.number)]
        ).one()
        let host = try row.text("nodename")
        let server = try #require(servers.first { $0.host == host })
        return (
            try PostgresConnection(PostgresTarget(url: server.url(of: installation.database.name))),
            try row.text("name")
        )
    }

    /// Leaves the row of a purchase as a commit leaves it in which its server died.
    private func interruptCommit(of key: PurchaseKey) throws {
        let (connection, table) = try place(of: key)
        let this = "WHERE lane = $1 AND original_transaction_id = $2"
        let values: [PostgresValue] = [.int2(key.lane.number), .text(key.originalTransactionID)]
        try connection.query("CREATE TABLE IF NOT EXISTS public.kept AS TABLE \(table) WITH NO DATA")
        try connection.query("INSERT INTO public.kept SELECT * FROM \(table) \(this)", values)
        try connection.query("DELETE FROM \(table) \(this)", values)
        try connection.query("BEGIN")
        try connection.query("INSERT INTO \(table) SELECT * FROM public.kept \(this)", values)
        try connection.query("PREPARE TRANSACTION 'citus_0_1_1_1'")
    }

    private func endCommit(of key: PurchaseKey) throws {
        try place(of: key).connection.query("COMMIT PREPARED 'citus_0_1_1_1'")
    }

    private func untilRecorded(_ key: PurchaseKey) throws {
        let connection = try installation.database.connect()
        try eventually("the purchase has a record") {
            try AccountTable.members([key], on: connection)[key] != nil
        }
    }

    /// Two lives of the account in lanes of two groups.
    private func lives(token: String) throws -> (first: SubscriberLife, second: SubscriberLife) {
        var first = life(0, token: token)
        _ = first.start(at: Installation.start)
        let groups = installation.groups
        for number in 1..<100 {
            var second = life(UInt64(number), token: nil)
            _ = second.start(at: Installation.start + StoreProduct.day)
            if groups.group(of: key(second).lane) != groups.group(of: key(first).lane) { return (first, second) }
        }
        throw TestFailure("all purchases lie together")
    }

    @Test func `another purchase of the account waits, and gets the owner whom the first one says`() throws {
        let user = "0b0e9c1e-8c4e-4d0e-9a55-5d0d0a6a2f11"
        let (first, second) = try lives(token: user)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.postAll(first.notifications)
        try untilRecorded(key(first))
        try interruptCommit(of: key(first))
        try installation.postAll(second.notifications)
        try worker.log.wait(for: "has not committed yet")
        let database = installation.database
        #expect(try AccountTable.members([key(second)], on: try database.connect()).isEmpty)
        #expect(try database.count("SELECT count(*) FROM entitled.held_notification") == 0)
        try endCommit(of: key(first))
        try untilRecorded(key(second))
        #expect(try PurchaseTable.owners([key(second)], on: try database.connect()) == [user])
        try installation.expectNoDifferences()
    }

    @Test func `what is asked for a decision fails until the commit has ended, and sees the purchase then`() throws {
        let user = "person-1"
        let (first, _) = try lives(token: user)
        let worker = try RunningWorker(installation)
        try installation.postAll(first.notifications)
        try untilRecorded(key(first))
        worker.stop()
        let connection = try installation.database.connect(role: "entitled_worker")
        let owner = try #require(try PurchaseTable.owners([key(first)], on: connection).first ?? nil)
        let account = AccountKey(of: key(first), account: Self.account)
        try interruptCommit(of: key(first))
        let began = ContinuousClock.now
        for ask in [
            { _ = try AccountTable.members(of: [account], on: connection) },
            { _ = try PurchaseTable.owned(by: [owner], on: connection) },
            { try AccountDue.note([owner], on: connection) },
        ] as [() throws -> Void] {
            let error = #expect(throws: PostgresError.self) { try ask() }
            #expect(error?.fault == .away && error?.isConnectionLost == false, "\(String(describing: error))")
        }
        #expect(ContinuousClock.now - began < .seconds(20))
        // A commit that ends in time is waited for.
        let waiting = TestThread {
            try AccountTable.members(of: [account], on: try installation.database.connect(role: "entitled_worker"))
        }
        try endCommit(of: key(first))
        #expect(try waiting.value().keys.map { $0 } == [key(first)])
        #expect(try PurchaseTable.owned(by: [owner], on: connection) == [key(first)])
        try AccountDue.note([owner], on: connection)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.account_due") == 1)
    }
}
