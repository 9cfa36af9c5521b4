import Base
import Crypto
import Daemon
import Database
import Glibc
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

@Suite struct FaultTests {
    @Test func `while Postgres is away the answer is 503, and what was acknowledged is there afterwards`() throws {
        let cluster = try TestCluster()
        let installation = try Installation(cluster)
        let isOver = Monitor(false)
        let load = (UInt64(0)..<4).map { thread in
            TestThread {
                var acknowledged: [String] = []
                var refused = 0
                var number = thread * 100_000
                while !isOver.read({ $0 }) {
                    var life = SubscriberLife(app: Installation.app, seed: 10, number: number)
                    let notification = life.start(at: Installation.start)
                    let answer = try installation.post(notification)
                    if answer.status == 200 {
                        acknowledged.append(notification.uuid)
                        number += 1
                    } else {
                        guard answer.status == 503, answer.headers.contains(where: { $0.name == "Retry-After" }) else {
                            throw TestFailure("answered \(answer.status)")
                        }
                        refused += 1
                    }
                }
                return (acknowledged, refused)
            }
        }
        let connection = try installation.database.connect()
        try eventually("the load runs") {
            try connection.query("SELECT count(*) > 50 FROM entitled.notification").one().bool(0)
        }
        try cluster.stop(.immediate)
        var life = SubscriberLife(app: Installation.app, seed: 11)
        let late = life.start(at: Installation.start)
        #expect(try installation.post(late).status == 503)
        try cluster.start()
        try eventually("notifications are taken again") { try installation.post(late).status == 200 }
        isOver.change { $0 = true }
        let outcomes = try load.map { try $0.value() }
        #expect(outcomes.map(\.1).reduce(0, +) > 0)
        let stored = Set(try installation.database.texts("SELECT uuid FROM entitled.notification"))
        let acknowledged = Set(outcomes.flatMap(\.0))
        #expect(acknowledged.count > 50)
        #expect(acknowledged.subtracting(stored).isEmpty)
    }

    @Test func `connections that are taken away lose nothing and store nothing twice`() throws {
        let installation = try Installation()
        let count: UInt64 = 120
        let load = (UInt64(0)..<4).map { part in
            TestThread {
                for number in stride(from: part, to: count, by: 4) {
                    var life = SubscriberLife(app: Installation.app, seed: 17, number: number)
                    let body = try Installation.signer.sign(life.start(at: Installation.start)).body
                    try eventually("it is taken") { installation.post(body).status == 200 }
                }
            }
        }
        while !load.allSatisfy(\.hasEnded) {
            try installation.database.terminateConnections()
            // The pace of the faults, not a wait for anything: between two of them some requests get through.
            usleep(30_000)
        }
        for thread in load { try thread.value() }
        for table in ["notification", "notification_key", "pending"] {
            #expect(try installation.database.count("SELECT count(*) FROM entitled.\(table)") == Int64(count))
        }
    }

    @Test func `two processes that drew the same number for the same lane both store`() throws {
        let clocks: [any WallClock] = [ManualClock(Installation.start), SystemClock()]
        let drawn = Monitor(0)
        let installation = try Installation(sequence: {
            let turn = drawn.change { count in
                count += 1
                return count
            }
            return SequenceGenerator(clock: clocks[min(turn, clocks.count) - 1], node: 5)
        })
        var life = SubscriberLife(app: Installation.app, seed: 19)
        #expect(try installation.post(life.start(at: Installation.start)).status == 200)
        // What the other process will draw next is taken.
        try installation.database.execute("UPDATE entitled.notification SET seq = seq + 1")
        try installation.database.execute("UPDATE entitled.pending SET seq = seq + 1")
        #expect(try installation.post(life.autoRenewOff(at: Installation.start + 1000)).status == 200)
        #expect(drawn.read { $0 } == 2)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification") == 2)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification_key") == 2)
    }

    @Test func `what comes while the endpoint drains is answered 503`() throws {
        let installation = try Installation()
        var life = SubscriberLife(app: Installation.app, seed: 18)
        let body = try Installation.signer.sign(life.start(at: Installation.start)).body
        installation.drain()
        #expect(installation.post(body).status == 503)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification") == 0)
    }

    @Test func `a worker goes on when Postgres comes back`() throws {
        let cluster = try TestCluster()
        let installation = try Installation(cluster)
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation, lease: .seconds(2))
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 12)
        _ = try installation.post(life.start(at: Installation.start))
        _ = try consumer.wait(1)
        try cluster.restart()
        let cancelled = life.autoRenewOff(at: Installation.start + StoreProduct.day)
        try eventually("notifications are taken again") { try installation.post(cancelled).status == 200 }
        #expect(try Set(consumer.wait(2).map(\.type)).isSuperset(of: ["INITIAL_PURCHASE", "CANCELLATION"]))
    }

    @Test func `damaged rows are held and block nobody`() throws {
        let installation = try Installation()
        var lives = (0..<30).map { SubscriberLife(app: Installation.app, seed: 13, number: $0) }
        let notifications = lives.indices.map { lives[$0].start(at: Installation.start) }
        try installation.postAll(notifications)
        // One loses its payload, one gets another's, one's lane is not its purchase's.
        let uuids = notifications.map(\.uuid)
        try installation.database.execute(
            "UPDATE entitled.notification SET payload = '\\x0102' WHERE uuid = $1", [.text(uuids[3])])
        try installation.database.execute(
            """
            UPDATE entitled.notification n SET payload = o.payload FROM entitled.notification o
            WHERE n.uuid = $1 AND o.uuid = $2
            """, [.text(uuids[4]), .text(uuids[5])])
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        try installation.untilApplied(30)
        let reasons = try installation.heldReasons()
        #expect(reasons.count == 2)
        #expect(reasons.contains { $0.contains("cannot be restored") })
        #expect(reasons.contains { $0.contains("another lane") })
        #expect(Set(try consumer.wait(28).map(\.id)).count == 28)
    }

    enum Rejection: String, Sendable, CaseIterable {
        /// Postgres has no text with a NUL, which is known before the transaction.
        case zero
        /// No id has so many bytes; no index takes them.
        case length
        /// The database says so, and the whole transaction fails.
        case database

        var reason: String {
            switch self {
            case .zero: "the transaction has U+0000 in its productId, which Postgres cannot store"
            case .length: "the transaction has a productId of more than 1024 bytes"
            case .database: "could not be applied: "
            }
        }
    }

    @Test(arguments: Rejection.allCases)
    func `a notification that no row can keep is held and takes no other with it`(refusal: Rejection) throws {
        let installation = try Installation()
        let product =
            switch refusal {
            case .zero: StoreProduct(id: "nul\0product", price: 1, period: StoreProduct.day)
            case .length:
                StoreProduct(id: String(repeating: "é", count: 513), price: 1, period: StoreProduct.day)
            case .database: try installation.refusedProduct()
            }
        var lives = (0..<30).map { SubscriberLife(app: Installation.app, seed: 14, number: $0) }
        var notifications = lives.indices.map { lives[$0].start(at: Installation.start) }
        var poison = SubscriberLife(app: Installation.app, seed: 14, number: 99, product: product)
        notifications.insert(poison.start(at: Installation.start), at: 11)
        try installation.postAll(notifications)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.untilApplied(31)
        let reasons = try installation.heldReasons()
        #expect(reasons.count == 1)
        #expect(reasons.first?.hasPrefix(refusal.reason) == true, "\(reasons)")
        #expect(try installation.purchaseRows().count == 30)
        #expect(worker.log.text.contains("lane batch failed") == (refusal == .database))
    }

    enum Forgery: String, Sendable, CaseIterable {
        case foreignSignature, otherBundle, otherEnvironment, otherPurchase, noJWS
    }

    @Test(arguments: Forgery.allCases)
    func `what is forged inside a genuine notification never becomes a record`(forgery: Forgery) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 15)
        let notification = life.start(at: Installation.start)
        #expect(installation.post(try forge(notification, forgery)).status == 200)
        var good = SubscriberLife(app: Installation.app, seed: 15, number: 1)
        #expect(try installation.post(good.start(at: Installation.start)).status == 200)
        try installation.untilApplied(2)
        #expect(try installation.heldReasons().count == 1)
        #expect(try installation.purchaseRows().count == 1)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") == 1)
        #expect(try installation.document(of: life.latest.originalID, now: Installation.start) == "nobody")
    }

    private func forge(_ notification: StoreNotification, _ forgery: Forgery) throws -> [UInt8] {
        let genuine = try Installation.signer
        let stranger = NotificationSigner(try StorePKI.generate(now: SystemClock().now()))
        func changed(_ payload: JSON, _ name: String, _ value: String) -> JSON {
            .object((payload.members ?? []).map { $0.name == name ? .init(name: name, value: .string(value)) : $0 })
        }
        var isFirst = true
        let payload = try notification.payload { part in
            defer { isFirst = false }
            switch forgery {
            case .foreignSignature: return try stranger.sign(part)
            case .otherBundle where isFirst: return try genuine.sign(changed(part, "bundleId", "com.example.other"))
            case .otherEnvironment: return try genuine.sign(changed(part, "environment", "Sandbox"))
            case .otherPurchase where !isFirst:
                return try genuine.sign(changed(part, "originalTransactionId", "2000009999999999"))
            case .noJWS where isFirst: return "no.jws"
            default: return try genuine.sign(part)
            }
        }
        return NotificationSigner.body(try genuine.sign(bytes: payload.bytes))
    }

    @Test func `what is not signed by the store is refused and leaves nothing`() throws {
        let installation = try Installation()
        let stranger = NotificationSigner(try StorePKI.generate(now: SystemClock().now()))
        var life = SubscriberLife(app: Installation.app, seed: 16)
        let notification = life.start(at: Installation.start)
        #expect(installation.post(try stranger.sign(notification).body).status == 403)
        var body = try Installation.signer.sign(notification).body
        body[body.count - 20] = body[body.count - 20] == 65 ? 66 : 65
        #expect(installation.post(body).status == 403)
        #expect(installation.post(Array("{}".utf8)).status == 400)
        var other = SubscriberLife(app: StoreApp(bundleID: "com.example.other", environment: "Production"), seed: 16)
        #expect(try installation.post(other.start(at: Installation.start)).status == 403)
        var xcode = SubscriberLife(app: StoreApp(environment: "Xcode"), seed: 16)
        #expect(try installation.post(xcode.start(at: Installation.start)).status == 403)
        for table in ["notification", "notification_key", "pending", "jws_header"] {
            #expect(try installation.database.count("SELECT count(*) FROM entitled.\(table)") == 0)
        }
    }
}
