import AppStore
import Base
import Crypto
import Daemon
import Database
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// What cannot be applied waits beside the lines, and is applied by itself once it can be.
@Suite struct HeldTests {
    /// An installation whose first notifications cannot be applied until they are mended.
    private struct Scene {
        let installation: Installation
        var life = SubscriberLife(app: Installation.app, seed: 31)

        init() throws {
            installation = try Installation()
        }

        func damage(_ uuid: String) throws {
            try installation.database.execute(
                "UPDATE entitled.notification SET payload = '\\x00'::bytea || payload WHERE uuid = $1", [.text(uuid)])
        }

        func mend(_ uuid: String) throws {
            try installation.database.execute(
                "UPDATE entitled.notification SET payload = substr(payload, 2) WHERE uuid = $1", [.text(uuid)])
        }

        func makeDue() throws {
            try installation.database.execute("UPDATE entitled.held_notification SET next_ms = 0")
        }

        func untilHeld(_ rows: [String]) throws {
            try eventually("held: \(rows)") { try held() == rows }
        }

        func held() throws -> [String] {
            try installation.database.texts(
                """
                SELECT n.uuid || ' ' || h.attempts FROM entitled.held_notification h
                JOIN entitled.notification n USING (lane, seq) ORDER BY n.seq
                """)
        }

        func purchases() throws -> Int64 {
            try installation.database.count("SELECT count(*) FROM entitled.purchase")
        }
    }

    @Test func `later notifications of its purchase and of its lane are applied meanwhile`() throws {
        var scene = try Scene()
        let first = scene.life.start(at: Installation.start)
        #expect(try scene.installation.post(first).status == 200)
        try scene.damage(first.uuid)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try scene.untilHeld(["\(first.uuid) 1"])
        #expect(try scene.purchases() == 0)
        #expect(
            try scene.installation.post(scene.life.autoRenewOff(at: Installation.start + StoreProduct.day)).status
                == 200)
        try scene.installation.untilApplied(2)
        #expect(try scene.purchases() == 1)
        #expect(try scene.held() == ["\(first.uuid) 1"])
    }

    @Test func `a retry that fails keeps when it failed first, and one that succeeds ends like one in order`() throws {
        var scene = try Scene()
        let consumer = try Consumer()
        _ = try scene.installation.addEndpoint(consumer)
        let first = scene.life.start(at: Installation.start)
        #expect(try scene.installation.post(first).status == 200)
        try scene.damage(first.uuid)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop(); consumer.stop() }
        try scene.untilHeld(["\(first.uuid) 1"])
        let since = try scene.installation.database.count("SELECT held_ms FROM entitled.held_notification")
        try scene.makeDue()
        try scene.untilHeld(["\(first.uuid) 2"])
        #expect(try scene.installation.database.count("SELECT held_ms FROM entitled.held_notification") == since)
        #expect(
            try scene.installation.database.count(
                "SELECT next_ms - held_ms FROM entitled.held_notification") >= 600_000)
        try scene.mend(first.uuid)
        try scene.makeDue()
        try scene.untilHeld([])
        #expect(try consumer.wait(1).map(\.type) == ["INITIAL_PURCHASE"])
        #expect(try scene.purchases() == 1)
        try scene.installation.expectNoDifferences()
        let metrics = worker.metrics.exposition()
        #expect(metrics.contains("entitled_held_retries_total{outcome=\"held\"} 1\n"))
        #expect(metrics.contains("entitled_held_retries_total{outcome=\"applied\"} 1\n"))
    }

    @Test func `reprocess frees it at once after a fix`() throws {
        var scene = try Scene()
        let first = scene.life.start(at: Installation.start)
        #expect(try scene.installation.post(first).status == 200)
        try scene.damage(first.uuid)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try scene.untilHeld(["\(first.uuid) 1"])
        try scene.mend(first.uuid)
        let connection = try scene.installation.database.connect(role: "entitled_worker")
        #expect(
            try NotificationRepair.reprocess(uuid: first.uuid, app: nil, environment: nil, on: connection) == .queued)
        try eventually("it is applied") { try scene.purchases() == 1 }
        #expect(try scene.held() == [])
    }

    @Test func `a JWS header that comes back has its notifications applied without a hand`() throws {
        var scene = try Scene()
        let first = scene.life.start(at: Installation.start)
        #expect(try scene.installation.post(first).status == 200)
        let database = scene.installation.database
        try database.execute("CREATE TABLE public.saved AS TABLE entitled.jws_header")
        try database.execute("DELETE FROM entitled.jws_header")
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try scene.untilHeld(["\(first.uuid) 1"])
        #expect(try scene.installation.heldReasons() == ["its JWS header is missing"])
        try database.execute("INSERT INTO entitled.jws_header TABLE public.saved")
        try scene.makeDue()
        try eventually("it is applied") { try scene.purchases() == 1 }
        try scene.untilHeld([])
    }

    @Test func `a root that becomes trusted has its notifications applied without a hand`() throws {
        var scene = try Scene()
        let first = scene.life.start(at: Installation.start)
        #expect(try scene.installation.post(first).status == 200)
        let stranger = try StorePKI.generate(now: SystemClock().now())
        let distrustful = SignedDataVerifier(trust: TrustAnchors(fingerprints: [stranger.root.fingerprint()]))
        let former = try RunningWorker(scene.installation, verifier: distrustful)
        try scene.untilHeld(["\(first.uuid) 1"])
        former.stop()
        try scene.makeDue()
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try eventually("it is applied") { try scene.purchases() == 1 }
        try scene.untilHeld([])
    }

    @Test func `one that makes its transaction fail keeps no other from being tried again`() throws {
        let scene = try Scene()
        var lives = (0..<5).map { SubscriberLife(app: Installation.app, seed: 32, number: $0) }
        let good = lives.indices.map { lives[$0].start(at: Installation.start) }
        var poison = SubscriberLife(
            app: Installation.app, seed: 32, number: 99, product: try scene.installation.refusedProduct())
        let bad = poison.start(at: Installation.start)
        try scene.installation.postAll([bad] + good)
        for notification in good { try scene.damage(notification.uuid) }
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try eventually("all are held") { try scene.held().count == 6 }
        for notification in good { try scene.mend(notification.uuid) }
        try scene.makeDue()
        try scene.untilHeld(["\(bad.uuid) 2"])
        #expect(try scene.purchases() == 5)
    }

    @Test func `many that fail again one by one do not keep a fresh one waiting`() throws {
        let scene = try Scene()
        let product = try scene.installation.refusedProduct()
        let refused = (0..<64 as Range<UInt64>).map { number in
            var life = SubscriberLife(app: Installation.app, seed: 35, number: number, product: product)
            return life.start(at: Installation.start)
        }
        try scene.installation.postAll(refused)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try eventually(timeout: .seconds(60), "all are held") { try scene.held().count == 64 }
        let tried = "SELECT count(*) FROM entitled.held_notification WHERE attempts > 1"
        try scene.makeDue()
        try eventually(timeout: .seconds(30), "they are tried again") {
            try scene.installation.database.count(tried) > 0
        }
        for number in 1...3 as ClosedRange<Int64> {
            var life = SubscriberLife(app: Installation.app, seed: 36, number: UInt64(number))
            let posted = ContinuousClock.now
            #expect(try scene.installation.post(life.start(at: Installation.start)).status == 200)
            try eventually("a fresh customer's notification is applied") { try scene.purchases() == number }
            #expect(ContinuousClock.now - posted < .seconds(1.5))
        }
        #expect(try scene.installation.database.count(tried) < 64)
    }

    @Test func `thousands that are due at once do not keep the others waiting`() throws {
        var scene = try Scene()
        try scene.installation.database.execute(
            """
            INSERT INTO entitled.held_notification (lane, seq, reason, held_ms, attempts, next_ms)
            SELECT g % 256, g, 'forged', (extract(epoch FROM now()) * 1000)::int8, 1, 0 FROM generate_series(1, 3000) AS g
            """)
        let worker = try RunningWorker(scene.installation)
        defer { worker.stop() }
        try worker.log.wait(for: "lanes gained")
        #expect(try scene.installation.post(scene.life.start(at: Installation.start)).status == 200)
        try scene.installation.untilApplied(1)
        let open = "SELECT count(*) FROM entitled.held_notification WHERE attempts = 1"
        #expect(try scene.installation.database.count(open) > 0)
        try eventually(timeout: .seconds(60), "all were tried once more") {
            try scene.installation.database.count(open) == 0
        }
        #expect(try scene.purchases() == 1)
    }
}
