import Base
import Database
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Work that ends the session of its worker each time, as a transaction that is idle for too long does (25P03).
@Suite struct LostSessionTests {
    private static func lane(_ life: SubscriberLife) -> Lane {
        PurchaseKey(
            app: "demo", environment: .production, originalTransactionID: life.latest.originalID
        ).lane
    }

    private static func untilThereAre(_ count: Int64, in database: TestDatabase, within time: Duration) throws {
        try eventually(timeout: time, "\(count) purchases have records") {
            try database.count("SELECT count(*) FROM entitled.purchase") == count
        }
    }

    /// From now on.
    private static func loseSessions(with life: SubscriberLife, in database: TestDatabase) throws {
        try database.execute(
            """
            CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'idle for too long' USING ERRCODE = '25P03'; END $$
            """)
        try database.execute(
            """
            CREATE TRIGGER lose BEFORE INSERT OR UPDATE ON entitled.purchase FOR EACH ROW
            WHEN (NEW.original_transaction_id = '\(life.latest.originalID)') EXECUTE FUNCTION lose()
            """)
    }

    @Test func `a notification that costs the session each time does not keep its lane waiting`() throws {
        let installation = try Installation()
        var poison = SubscriberLife(app: Installation.app, seed: 3_100)
        let first = poison.start(at: Installation.start)
        try LostSessionTests.loseSessions(with: poison, in: installation.database)
        var neighbours: [(SubscriberLife, StoreNotification)] = []
        for number in 1..<5_000 as Range<UInt64> where neighbours.count < 3 {
            var life = SubscriberLife(app: Installation.app, seed: 3_100, number: number)
            let started = life.start(at: Installation.start)
            if LostSessionTests.lane(life) == LostSessionTests.lane(poison) { neighbours.append((life, started)) }
        }
        #expect(neighbours.count == 3)
        #expect(try installation.post(first).status == 200)
        for (_, started) in neighbours { #expect(try installation.post(started).status == 200) }
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try LostSessionTests.untilThereAre(3, in: installation.database, within: .seconds(30))
        var fresh = SubscriberLife(app: Installation.app, seed: 3_200)
        #expect(try installation.post(fresh.start(at: Installation.start)).status == 200)
        try LostSessionTests.untilThereAre(4, in: installation.database, within: .seconds(10))
        try worker.log.wait(for: "slow notification postponed")
        try installation.database.execute("DROP TRIGGER lose ON entitled.purchase")
    }

    @Test func `a held notification that costs the session each time lets the others be tried`() throws {
        let installation = try Installation()
        var lives = (0..<8 as Range<UInt64>).map { SubscriberLife(app: Installation.app, seed: 3_300, number: $0) }
        let started = lives.indices.map { lives[$0].start(at: Installation.start) }
        let database = installation.database
        try database.execute("CREATE TABLE public.saved AS TABLE entitled.jws_header")
        try installation.postAll(started)
        try database.execute("INSERT INTO public.saved TABLE entitled.jws_header")
        try database.execute("DELETE FROM entitled.jws_header")
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually(timeout: .seconds(20), "they are held") { try installation.heldReasons().count == 8 }
        try LostSessionTests.loseSessions(with: lives[3], in: database)
        try database.execute("INSERT INTO entitled.jws_header TABLE public.saved")
        try database.execute("UPDATE entitled.held_notification SET next_ms = 0")
        try LostSessionTests.untilThereAre(7, in: database, within: .seconds(60))
        try eventually(timeout: .seconds(60), "it is put off") {
            try database.count("SELECT count(*) FROM entitled.held_notification WHERE attempts > 1") == 1
        }
    }
}
