import Base
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

/// Owners that an upgrade finds: nothing moves, nothing is told, and it is known where the rules would say otherwise.
@Suite struct OwnerAdoptionTests {
    @Test func `what was found stays, is told to nobody, and is listed where the rules differ`() throws {
        let installation = try Installation()
        let database = installation.database
        var lives = (0..<3).map { SubscriberLife(app: Installation.app, seed: 520, number: UInt64($0)) }
        let first = try RunningWorker(installation)
        try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
        try installation.untilApplied(3)
        first.stop()
        // As a version left it that knew neither accounts nor claims: one purchase is another customer's.
        let moved = lives[0].latest.originalID
        try database.execute("DELETE FROM entitled.account")
        try database.execute("UPDATE entitled.purchase SET claims = NULL, account = NULL")
        try database.execute(
            "UPDATE entitled.purchase SET owner = 'kept' WHERE original_transaction_id = $1", [.text(moved)])
        try CustomerTable.make(["kept"], now: 1, on: try database.connect())
        try database.execute("INSERT INTO entitled.owner_lane (owner, lane) SELECT 'kept', lane FROM entitled.purchase")
        try database.execute(
            """
            INSERT INTO entitled.action (kind, at_ms, actor, app_user_id)
            VALUES ('keep', (extract(epoch FROM clock_timestamp()) * 1000)::int8, 'migrate', '')
            """)
        try installation.expectNoDifferences()
        let events = try database.count("SELECT count(*) FROM entitled.event")

        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually("every record has its claims") {
            try database.count("SELECT count(*) FROM entitled.purchase WHERE claims IS NULL") == 0
        }
        #expect(
            try database.texts("SELECT owner FROM entitled.purchase WHERE original_transaction_id = $1", [.text(moved)])
                == ["kept"])
        #expect(try database.count("SELECT count(*) FROM entitled.event") == events)
        try installation.expectNoDifferences()
        let connection = try database.connect()
        let accounts = Set(try AccountTable.differing(atMost: 9, on: connection))
        let settlement = OwnerSettlement(salt: OwnerSalt(), foldSettings: FoldSettings())
        let differing = try settlement.differing(of: accounts, on: connection)
        #expect(differing.keys.map(\.originalTransactionID) == [moved])
        #expect(differing.values.first?.found == "kept")
        #expect(differing.values.first?.ruled == lives[0].account.token)
        // The same token again is no act; another customer's is one.
        try installation.postAll([lives[0].renew(at: lives[0].expires - 1000)])
        try installation.untilApplied(4)
        #expect(try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'kept'") == 1)
        try installation.expectNoDifferences()
    }
}
