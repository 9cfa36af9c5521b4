import Base
import Customers
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

/// Purchases with more facts than any turn of a worker may read: slow for themselves, unnoticed by others.
///
/// Serialised: times are measured beside a load that takes a processor.
@Suite(.serialized) struct LongHistoryTests {
    private struct Scene {
        let installation: Installation
        var lives: [SubscriberLife]

        /// - Parameters:
        ///   - count: purchases that were applied once.
        ///   - copies: how often each of their facts is in the log.
        init(_ count: Int, copies: Int) throws {
            installation = try Installation()
            lives = (0..<UInt64(count)).map { SubscriberLife(app: Installation.app, seed: 2_200, number: $0) }
            let first = try RunningWorker(installation)
            defer { first.stop() }
            try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
            try installation.untilApplied(Int64(count))
            try installation.database.execute(
                """
                INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq,
                    header, payload, signature, source)
                SELECT lane, app, environment, original_transaction_id, gen_random_uuid(), kind, signed_ms, seq, header,
                    payload, signature, source
                FROM entitled.fact, generate_series(1, $1)
                """, [.int8(Int64(copies))])
            try installation.database.execute("ANALYZE entitled.fact")
        }

        mutating func cancelAll() throws {
            try installation.postAll(
                lives.indices.map { lives[$0].autoRenewOff(at: Installation.start + StoreProduct.day) })
        }

        /// How long it takes until a fresh customer's notification is applied.
        func probe(_ number: UInt64) throws -> Duration {
            var life = SubscriberLife(app: Installation.app, seed: 2_300, number: number)
            let began = ContinuousClock.now
            #expect(try installation.post(life.start(at: Installation.start)).status == 200)
            try eventually("a fresh customer's notification is applied") {
                try installation.database.count(
                    "SELECT count(*) FROM entitled.purchase WHERE original_transaction_id = $1",
                    [.text(life.latest.originalID)]) == 1
            }
            return ContinuousClock.now - began
        }

        var pending: Int64 { get throws { try installation.database.count("SELECT count(*) FROM entitled.pending") } }
    }

    @Test func `a purchase with 30,000 facts is folded apart, and a fresh customer waits for nothing`() throws {
        var scene = try Scene(1, copies: 10_000)
        let worker = try RunningWorker(scene.installation, lease: .seconds(2))
        defer { worker.stop() }
        try scene.cancelAll()
        for number in 0..<3 as Range<UInt64> { #expect(try scene.probe(number) < .seconds(5)) }
        try eventually(timeout: .seconds(60), "the long history is folded and its notification applied") {
            try scene.pending == 0
        }
        #expect(try scene.installation.heldReasons() == [])
        let folds = "SELECT count(*) FROM entitled.purchase_fold WHERE facts >= 30000"
        #expect(try scene.installation.database.count(folds) == 1)
        #expect(
            try scene.installation.database.count("SELECT count(*) FROM entitled.purchase WHERE NOT will_renew") == 1)
        try scene.installation.expectNoDifferences()
    }

    @Test func `what comes after is applied by what was kept, by two workers as well`() throws {
        var scene = try Scene(20, copies: 100)
        let workers = try (0..<2).map { _ in try RunningWorker(scene.installation, lease: .seconds(2)) }
        defer { for worker in workers { worker.stop() } }
        try scene.cancelAll()
        try eventually(timeout: .seconds(30), "all are applied") { try scene.pending == 0 }
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.purchase_fold") == 20)
        try scene.installation.postAll(
            scene.lives.indices.map { scene.lives[$0].autoRenewOn(at: Installation.start + 2 * StoreProduct.day) })
        try scene.installation.postAll(
            scene.lives.indices.map { scene.lives[$0].renew(at: Installation.start + 3 * StoreProduct.day) })
        try eventually(timeout: .seconds(30), "all are applied") { try scene.pending == 0 }
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.purchase WHERE will_renew") == 20)
        try scene.installation.expectNoDifferences()
    }

    @Test func `a kept state that is not what the facts come to is found and made again`() throws {
        var scene = try Scene(2, copies: 100)
        let worker = try RunningWorker(scene.installation)
        try scene.cancelAll()
        try eventually(timeout: .seconds(30), "all are applied") { try scene.pending == 0 }
        worker.stop()
        try scene.installation.database.execute(
            """
            UPDATE entitled.purchase_fold p SET state = o.state, tail = NULL FROM entitled.purchase_fold o
            WHERE o.original_transaction_id < p.original_transaction_id
            """)
        #expect(try scene.installation.differences().contains { $0.contains("folded_state") })
        _ = try RecordRebuild(
            patience: .seconds(86_400), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), isDry: false
        ).run(
            on: try scene.installation.database.connect(role: "entitled_worker"), progress: { _ in }, found: { _ in })
        try scene.installation.expectNoDifferences()
    }

    @Test func `a poison notification behind a thousand of one lane is held, and other lanes go on meanwhile`() throws {
        let installation = try Installation()
        var busy = SubscriberLife(app: Installation.app, seed: 2_400)
        var notifications = [busy.start(at: Installation.start)]
        for place in 1...400 {
            let at = Installation.start + Int64(place) * 60_000
            notifications.append(place % 2 == 1 ? busy.autoRenewOff(at: at) : busy.autoRenewOn(at: at))
        }
        var poison = SubscriberLife(
            app: Installation.app, seed: 2_400, number: 1, product: try installation.refusedProduct())
        let wrong = poison.start(at: Installation.start)
        try installation.postAll(notifications)
        #expect(try installation.post(wrong).status == 200)
        let began = ContinuousClock.now
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var slowest = Duration.zero
        for number in 0..<5 as Range<UInt64> {
            var life = SubscriberLife(app: Installation.app, seed: 2_500, number: number)
            let posted = ContinuousClock.now
            #expect(try installation.post(life.start(at: Installation.start)).status == 200)
            try eventually("a fresh customer's notification is applied") {
                try installation.database.count(
                    "SELECT count(*) FROM entitled.purchase WHERE original_transaction_id = $1",
                    [.text(life.latest.originalID)]) == 1
            }
            slowest = max(slowest, ContinuousClock.now - posted)
        }
        #expect(slowest < .seconds(3))
        try eventually(timeout: .seconds(10), "the poison is held") { try installation.heldReasons().count == 1 }
        #expect(ContinuousClock.now - began < .seconds(20))
        try eventually(timeout: .seconds(60), "everything is applied") {
            try installation.database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        try installation.expectNoDifferences()
    }

    @Test func `the same content signed again adds no fact, whoever brings it`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        var life = SubscriberLife(app: Installation.app, seed: 2_600)
        let started = life.start(at: Installation.start)
        let jws = try PostingFixture.jws(started)
        #expect(bench.post(jws, by: "user-1").status == 200)
        let before = try installation.database.count("SELECT count(*) FROM entitled.fact WHERE kind = 1")
        for place in 1...10 as ClosedRange<Int64> {
            let again = try PostingFixture.jws(started) { $0.with("signedDate", .int(started.signedDate + place)) }
            #expect(bench.post(again, by: "user-1").status == 200)
        }
        #expect(try installation.database.count("SELECT count(*) FROM entitled.fact WHERE kind = 1") == before)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification") == 1)
        try installation.expectNoDifferences()
    }

    @Test func `news and a post that says them again in one turn make one row, and what is kept is the same`() throws {
        var scene = try Scene(1, copies: 100)
        let installation = scene.installation
        let first = try RunningWorker(installation)
        try scene.cancelAll()
        try eventually(timeout: .seconds(60), "it is folded") {
            try scene.pending == 0 && installation.database.count("SELECT count(*) FROM entitled.purchase_fold") == 1
        }
        first.stop()
        let rows = "SELECT count(*) FROM entitled.fact WHERE kind = 1"
        let before = try installation.database.count(rows)
        let renewed = scene.lives[0].renew(at: Installation.start + 2 * StoreProduct.day)
        #expect(try installation.post(renewed).status == 200)
        // Its answer is a 503: nothing applies it yet.
        let bench = try PostingFixture(installation, patience: .milliseconds(100))
        let again = try PostingFixture.jws(renewed) { $0.with("signedDate", .int(renewed.signedDate + 1)) }
        _ = bench.post(again, by: "user-1")
        let second = try RunningWorker(installation)
        defer { second.stop() }
        try eventually(timeout: .seconds(60), "both are applied") { try scene.pending == 0 }
        #expect(try installation.database.count(rows) == before + 1)
        try installation.expectNoDifferences()
    }

    @Test func `facts that another program adds make what was kept be folded anew`() throws {
        var scene = try Scene(1, copies: 100)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try scene.cancelAll()
        try eventually(timeout: .seconds(30), "all are applied") { try scene.pending == 0 }
        let database = scene.installation.database
        let touched = "SELECT sum(touched)::int8 FROM entitled.lane"
        let before = try database.count(touched)
        #expect(try database.count("SELECT count(*) FROM entitled.purchase_fold") == 1)
        try database.execute(
            """
            INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq,
                payload) SELECT lane, app, environment, original_transaction_id, gen_random_uuid(), kind, signed_ms, seq, payload
            FROM entitled.fact LIMIT 1
            """)
        #expect(try database.count("SELECT count(*) FROM entitled.purchase_fold") == 0)
        #expect(try database.count(touched) > before)
        try scene.installation.postAll([scene.lives[0].autoRenewOn(at: Installation.start + 2 * StoreProduct.day)])
        try eventually(timeout: .seconds(30), "it is folded and applied") {
            try scene.pending == 0 && database.count("SELECT count(*) FROM entitled.purchase_fold") == 1
        }
        try scene.installation.expectNoDifferences()
    }

    @Test func `a long history that cannot be read holds its own notifications, and says why`() throws {
        // More than a turn reads.
        var scene = try Scene(1, copies: 3_000)
        try scene.installation.database.execute(
            """
            UPDATE entitled.fact SET payload = '\\x00' WHERE digest = (SELECT max(digest::text)::uuid FROM entitled.fact)
            """)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try scene.cancelAll()
        try eventually(timeout: .seconds(20), "it is held") { try scene.installation.heldReasons().count == 1 }
        let reasons = try scene.installation.heldReasons()
        #expect(reasons.count == 1 && reasons.allSatisfy { $0.contains("cannot be folded") }, "\(reasons)")
        #expect(try scene.probe(7) < .seconds(5))
        try worker.log.wait(for: "purchase fold failed")
    }

    // MARK: - The folder by itself

    /// The purchases of a scene, in the order in which they are looked over.
    private static func keys(_ database: TestDatabase) throws -> [PurchaseKey] {
        try database.connect().query(
            "SELECT DISTINCT lane, original_transaction_id FROM entitled.fact ORDER BY 1, 2"
        ).map { row in
            PurchaseKey(
                app: Installation.registered.id, environment: .production, originalTransactionID: try row.text(1))
        }
    }

    private struct Folding {
        let log = LogTape()
        let metrics = Metrics()
        let folder: PurchaseFolder
        /// Of the worker's role.
        let connection: PostgresConnection

        init(_ database: TestDatabase) throws {
            folder = PurchaseFolder(
                session: PostgresSession(database.target(role: "entitled_worker")), logger: log.logger,
                metrics: metrics)
            connection = try database.connect(role: "entitled_worker")
        }

        /// Whether what is kept of a purchase is what its facts come to.
        func isKept(_ key: PurchaseKey) throws -> Bool {
            let known = try FactTable.unfolded([key], on: connection)[0]
            guard let kept = try PurchaseFoldTable.read([key], on: connection)[0] else { return false }
            return kept.isSame(as: known) && kept.rows == known.rows
        }

        var mended: Bool { metrics.exposition().contains("entitled_folds_mended_total 1\n") }
    }

    @Test func `facts that come while a purchase is folded are kept with the others`() throws {
        let scene = try Scene(1, copies: 2_000)
        let database = scene.installation.database
        let folding = try Folding(database)
        let (folder, connection) = (folding.folder, folding.connection)
        let key = try #require(try Self.keys(database).first)
        // It has read everything when it waits for the lane.
        let thread = try connection.transaction {
            _ = try Fence.hold([key.lane], on: connection)
            let thread = TestThread {
                try folder.foldAnew(key, on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            let assignment = OwnerAssignment(owner: "somebody", at: Installation.start, action: 7)
            let seq = SequenceGenerator.least(at: Installation.start)
            try FactTable.insert([FactTable.New(key: key, seq: seq, fact: FactRow(assignment))], on: connection)
            _ = try connection.query(
                """
                UPDATE entitled.fact SET signed_again = ARRAY[signed_ms + 5000]
                WHERE digest IN (SELECT digest FROM entitled.fact WHERE kind IN (1, 2) ORDER BY digest LIMIT 2)
                """)
            #expect(!thread.hasEnded)
            return thread
        }
        #expect(try thread.value())
        #expect(try folding.isKept(key))
        #expect(try FactTable.known(of: [key], on: connection)[0].facts.assignments.count == 1)
        #expect(!folding.log.text.contains("purchase fold restarted"))
    }

    @Test func `what is read of a purchase follows rows that change, and ends with rows that go`() throws {
        let scene = try Scene(1, copies: 1_000)
        let database = scene.installation.database
        let folding = try Folding(database)
        let key = try #require(try Self.keys(database).first)
        var reading = FactTable.Reading(of: key)
        let isRead = try reading.readAll(page: 500, on: folding.connection) { true }
        #expect(isRead)
        let rows = reading.known.rows
        // As many signatures as before, and others.
        for signed in [1, 2] as [Int64] {
            try database.execute(
                """
                UPDATE entitled.fact SET signed_again = ARRAY[signed_ms + $1]
                WHERE digest = (SELECT digest FROM entitled.fact WHERE kind = 1 ORDER BY digest LIMIT 1)
                """, [.int8(signed * 1000)])
            let isWhole = try reading.catchUp(page: 500, on: folding.connection)
            let known = try FactTable.unfolded([key], on: folding.connection)[0]
            #expect(isWhole && reading.known.rows == rows)
            let dates = [known, reading.known].map { $0.facts.transactions.map(\.signedDate).max() }
            #expect(dates[0] == dates[1])
        }
        try database.execute(
            "DELETE FROM entitled.fact WHERE digest = (SELECT digest FROM entitled.fact ORDER BY digest LIMIT 1)")
        let isWhole = try reading.catchUp(page: 500, on: folding.connection)
        #expect(!isWhole)
        #expect(try folding.folder.foldAnew(key, on: folding.connection))
        #expect(try folding.isKept(key))
    }

    @Test func `what is too large to be read again is not kept, and nothing older in its place`() throws {
        let scene = try Scene(1, copies: 100)
        let database = scene.installation.database
        let folding = try Folding(database)
        let key = try #require(try Self.keys(database).first)
        #expect(try folding.folder.foldAnew(key, on: folding.connection))
        let known = try FactTable.unfolded([key], on: folding.connection)[0]
        let unkept = try PurchaseFoldTable.write([key: known], largest: 100, on: folding.connection)
        guard case .larger(_, than: 100) = unkept[key] else {
            Issue.record("\(unkept)")
            return
        }
        #expect(try database.count("SELECT count(*) FROM entitled.purchase_fold") == 0)
    }

    @Test func `what cannot be looked over keeps nothing waiting, and what cannot be read is made anew`() throws {
        let scene = try Scene(3, copies: 100)
        let database = scene.installation.database
        let folding = try Folding(database)
        let keys = try Self.keys(database)
        try #require(keys.count == 3)
        for key in keys { #expect(try folding.folder.foldAnew(key, on: folding.connection)) }
        try database.execute(
            """
            UPDATE entitled.fact SET payload = '\\x00' WHERE digest = (
                SELECT digest FROM entitled.fact WHERE original_transaction_id = $1 ORDER BY digest LIMIT 1)
            """, [.text(keys[0].originalTransactionID)])
        try database.execute(
            "UPDATE entitled.purchase_fold SET state = '\\x00' WHERE original_transaction_id = $1",
            [.text(keys[1].originalTransactionID)])
        var cursor: PurchaseKey?
        folding.folder.lookOver(after: &cursor)
        #expect(cursor == keys[0])
        #expect(
            folding.log.text.split(separator: "\n").contains {
                $0.contains("purchase fold failed")
                    && $0.contains(#""original_transaction_id":"\#(keys[0].originalTransactionID)""#)
            },
            "\(folding.log.text)")
        #expect(!folding.mended)
        folding.folder.lookOver(after: &cursor)
        #expect(cursor == keys[1])
        #expect(folding.mended)
        #expect(try folding.isKept(keys[1]))
        folding.folder.lookOver(after: &cursor)
        #expect(cursor == keys[2])
        #expect(folding.mended)
        folding.folder.lookOver(after: &cursor)
        #expect(cursor == nil)
    }

    @Test func `what an app posted and cannot be applied stays in the log`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation, patience: .seconds(5))
        var life = SubscriberLife(
            app: Installation.app, seed: 2_700,
            product: StoreProduct(id: "nul\0product", price: 1, period: StoreProduct.day))
        _ = bench.post(try PostingFixture.jws(life.start(at: Installation.start)), by: "user-1")
        try eventually(timeout: .seconds(10), "it is held") { try installation.heldReasons().count == 1 }
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification") == 1)
    }

    @Test func `results of deliveries that cannot be stored delay no notification`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        try installation.database.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '22000'; END $$
            """)
        try installation.database.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON entitled.attempt FOR EACH ROW EXECUTE FUNCTION refuse()")
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        for number in 0..<20 as Range<UInt64> {
            var life = SubscriberLife(app: Installation.app, seed: 2_800, number: number)
            #expect(try installation.post(life.start(at: Installation.start)).status == 200)
            try installation.untilApplied(Int64(number) + 1, timeout: .seconds(5))
        }
        #expect(try installation.heldReasons() == [])
        try worker.log.wait(for: "delivery attempt recording failed")
        try installation.database.execute("DROP TRIGGER refuse ON entitled.attempt")
        try installation.untilDeliveries(20, .delivered)
    }
}
