import API
import Base
import Daemon
import Database
import Foundation
import HTTP
import Postgres
import Subscriptions
import Synchronization
import TestSupport
import Testing

/// `GET /v1/subscribers/{app_user_id}` on a real database.
struct SubscriberTests {
    private static let allTables = """
        entitled.customer, entitled.app_user_id, entitled.purchase, entitled.purchase_snapshot, entitled.fact
        """

    // MARK: - Who is asked for

    @Test func `who is asked for is made once, however many ask at once`() throws {
        let scene = try SubscriberFixture()
        let threads = (0..<12).map { _ in TestThread { scene.get("somebody").status } }
        let statuses = try threads.map { try $0.value() }
        #expect(statuses.sorted() == Array(repeating: 200, count: 11) + [201])
        #expect(scene.get("somebody").status == 200)
        #expect(try scene.database.count("SELECT count(*) FROM entitled.customer") == 1)
    }

    @Test(arguments: [
        ("null", 7256), ("NaN", 7256), ("a%2Fb", 7256), ("%20", 7256), ("%00", 7256), ("", 7220),
        (String(repeating: "x", count: 101), 7256),
    ])
    func `what cannot be an id makes nobody`(id: String, code: Int) throws {
        let scene = try SubscriberFixture()
        let answer = scene.get(id)
        #expect(answer.status == 400)
        #expect(answer.json["code"] == .int(Int64(code)))
        #expect(try scene.database.count("SELECT count(*) FROM entitled.app_user_id") == 0)
    }

    @Test func `two spellings of an id are one id`() throws {
        let scene = try SubscriberFixture()
        #expect(scene.get("%C3%A9").status == 201)
        let other = scene.get("e%CC%81")
        #expect(other.status == 200)
        let id = try #require(other.json["subscriber"]?["original_app_user_id"]?.stringValue)
        #expect(Array(id.utf8) == [0xc3, 0xa9])
        #expect(try scene.database.count("SELECT count(*) FROM entitled.app_user_id") == 1)
    }

    @Test func `an alias shows the same customer, with all purchases`() throws {
        let scene = try SubscriberFixture()
        try scene.tell("first", "1")
        try scene.tell("second", "2", price: 2, hours: 48)
        try scene.database.execute("UPDATE entitled.app_user_id SET original_app_user_id = 'first'")
        let answers = ["first", "second"].map { scene.get($0).json["subscriber"] }
        #expect(answers.first == answers.last)
        #expect(answers.first??["original_app_user_id"] == .string("first"))
        #expect(answers.first??["subscriptions"]?["monthly"]?["store_transaction_id"] == .string("2"))
    }

    @Test func `attributes are for secret keys alone`() throws {
        let scene = try SubscriberFixture()
        let (mine, theirs) = (scene.get("bob"), scene.get("bob", key: KeyedAPI.secretKey))
        #expect(mine.json["subscriber"]?["subscriber_attributes"] == nil)
        #expect(theirs.json["subscriber"]?["subscriber_attributes"] == .object([]))
        #expect(mine.header("etag") != theirs.header("etag"))
    }

    // MARK: - Snapshots

    @Test func `the first reading keeps what the next ones need, and says the same`() throws {
        let scene = try SubscriberFixture()
        try scene.tell("bob")
        let cold = scene.get("bob")
        try scene.untilKept(1)
        // What is not read any more may be gone.
        try scene.database.execute("DELETE FROM entitled.fact")
        let hot = scene.get("bob")
        #expect(hot.body == cold.body)
        #expect(SubscriberFixture.price(hot) == 1)
    }

    @Test func `a snapshot of before is never shown`() throws {
        let scene = try SubscriberFixture()
        try scene.tell("bob")
        for price in Int64(2)...5 {
            #expect(SubscriberFixture.price(scene.get("bob")) == price - 1)
            try scene.untilKept(1)
            try scene.tell("bob", price: price, signed: price)
        }
        #expect(SubscriberFixture.price(scene.get("bob")) == 5)
    }

    @Test func `a purchase that was removed and came again is read again`() throws {
        let scene = try SubscriberFixture()
        let worker = try scene.database.connect(role: "entitled_worker")
        try scene.tell("bob")
        _ = scene.get("bob")
        try scene.untilKept(1)
        try PurchaseTable.remove([SubscriberFixture.key("1")], on: worker)
        #expect(try scene.database.count("SELECT count(*) FROM entitled.purchase_snapshot") == 0)
        #expect(scene.get("bob").json["subscriber"]?["subscriptions"] == .object([]))
        // Of the same version, in the same millisecond.
        try worker.query("DELETE FROM entitled.fact")
        try scene.tell("bob", price: 7, on: worker)
        #expect(SubscriberFixture.price(scene.get("bob")) == 7)
    }

    @Test func `a snapshot that was made too slowly is not kept, and one without a purchase is not shown`() throws {
        let scene = try SubscriberFixture()
        let reader = try scene.database.connect(role: "entitled_api")
        try scene.tell("bob")
        let slow = try #require(
            try SubscriberQuery(foldSettings: FoldSettings()).find(["bob"], on: reader).first ?? nil)
        #expect(slow.made.count == 1)
        try scene.tell("bob", price: 2, signed: 1)
        try SnapshotTable.write(slow.made, on: reader)
        #expect(try scene.database.count("SELECT count(*) FROM entitled.purchase_snapshot") == 0)
        _ = scene.get("bob")
        try scene.untilKept(1)
        try scene.database.execute("DELETE FROM entitled.purchase")
        #expect(scene.get("bob").json["subscriber"]?["subscriptions"] == .object([]))
    }

    @Test func `bytes that nobody wrote are made again`() throws {
        let scene = try SubscriberFixture()
        try scene.tell("bob")
        _ = scene.get("bob")
        try scene.untilKept(1)
        try scene.database.execute("UPDATE entitled.purchase_snapshot SET body = '\\x00ff'")
        #expect(SubscriberFixture.price(scene.get("bob")) == 1)
        try eventually("it is written again") {
            try scene.database.count("SELECT count(*) FROM entitled.purchase_snapshot WHERE length(body) > 2") == 1
        }
    }

    @Test func `no reading is older than what was committed before it, while a worker writes`() throws {
        let scene = try SubscriberFixture()
        try scene.tell("bob")
        let committed = Atomic<Int64>(1)
        let last: Int64 = 150
        let readers = (0..<4).map { _ in
            TestThread {
                var (read, stale) = (0, 0)
                while committed.load(ordering: .acquiring) < last {
                    let least = committed.load(ordering: .acquiring)
                    guard let price = SubscriberFixture.price(scene.get("bob")) else { throw TestFailure("no price") }
                    read += 1
                    if price < least { stale += 1 }
                }
                return (read, stale)
            }
        }
        let worker = try scene.database.connect(role: "entitled_worker")
        for price in 2...last {
            try scene.tell("bob", price: price, signed: price, on: worker)
            committed.store(price, ordering: .releasing)
        }
        let counts = try readers.map { try $0.value() }
        #expect(counts.allSatisfy { $0.0 > 0 && $0.1 == 0 })
        #expect(SubscriberFixture.price(scene.get("bob")) == last)
        try scene.untilKept(1)
        #expect(SubscriberFixture.price(scene.get("bob")) == last)
    }

    @Test func `one customer whose facts cannot be read does not take the others along`() throws {
        let scene = try SubscriberFixture()
        for number in 0..<8 { try scene.tell("user\(number)", "\(number)") }
        try scene.database.execute("UPDATE entitled.fact SET payload = '\\x01' WHERE original_transaction_id = '3'")
        let threads = (0..<8).map { number in TestThread { scene.get("user\(number)").status } }
        let statuses = try threads.map { try $0.value() }
        #expect(statuses == [200, 200, 200, 500, 200, 200, 200, 200])
    }

    // MARK: - Tags

    @Test func `the tag is answered 304, until access ends without a word`() throws {
        let scene = try SubscriberFixture()
        try scene.tell("bob", hours: 24)
        let first = scene.get("bob")
        let tag = try #require(first.header("x-revenuecat-etag"))
        #expect(first.header("etag") == "\"\(tag)\"")
        scene.clock.advance(by: .seconds(23 * 3600))
        let headers = [["X-RevenueCat-ETag": tag], ["If-None-Match": "W/\"other\", W/\"\(tag)\""]]
        for header in headers {
            let known = scene.get("bob", headers: header)
            #expect(known.status == 304)
            #expect(known.body.isEmpty)
            #expect(known.header("x-revenuecat-etag") == tag)
            #expect(
                known.header("x-revenuecat-request-time") == "\(SubscriberFixture.start + 23 * SubscriberFixture.hour)")
        }
        scene.clock.advance(by: .seconds(3600))
        for header in headers {
            let ended = scene.get("bob", headers: header)
            #expect(ended.status == 200)
            #expect(ended.header("x-revenuecat-etag") != tag)
        }
    }

    @Test func `another tag, none, and a wish for signed answers get the whole document`() throws {
        let scene = try SubscriberFixture()
        let tag = try #require(scene.get("bob").header("x-revenuecat-etag"))
        for headers in [
            [:], ["X-RevenueCat-ETag": ""], ["X-RevenueCat-ETag": "0123456789abcdef"], ["If-None-Match": "\"x\""],
            ["X-RevenueCat-ETag": tag, "X-Nonce": "AAAAAAAAAAAAAAAA"],
        ] {
            let answer = scene.get("bob", headers: headers)
            #expect(answer.status == 200)
            #expect(answer.json["subscriber"] != nil)
            #expect((answer.header("etag") == nil) == (headers["X-Nonce"] != nil))
        }
    }

    @Test func `what was posted is answered in full, without a tag, and somebody unknown is 404`() throws {
        let answers = SubscriberResponses(
            document: SubscriberDocument(catalogue: EntitlementCatalogue([:])),
            foldSettings: FoldSettings(), clock: SystemClock())
        let api = try EngineFixture([
            APIRoute("POST", "/v1/again/{app_user_id}", .anyKey) { call in
                try answers.answer(call, of: try call.appUserID(), status: 201)
            }
        ])
        #expect(api.call("POST", "/v1/again/bob").status == 404)
        let tag = try #require(api.call("GET", "/v1/subscribers/bob").header("x-revenuecat-etag"))
        let posted = api.call("POST", "/v1/again/bob", headers: ["X-RevenueCat-ETag": tag, "If-None-Match": "*"])
        #expect(posted.status == 201)
        #expect(posted.json["subscriber"]?["original_app_user_id"] == .string("bob"))
        #expect(posted.header("etag") == nil && posted.header("x-revenuecat-etag") == nil)
    }

    // MARK: - What is written

    @Test func `last_seen is noted by the hour, where an app asks`() throws {
        let scene = try SubscriberFixture()
        let seen = "SELECT coalesce(max(last_seen_ms), 0) FROM entitled.customer"
        _ = scene.get("bob")
        _ = scene.get("bob", headers: ["X-Platform": "iOS"])
        try eventually("it is noted") { try scene.database.count(seen) == SubscriberFixture.start }
        scene.clock.advance(by: .seconds(3599))
        let again = scene.get("bob", headers: ["X-Platform": "iOS"])
        #expect(again.json["subscriber"]?["last_seen"] == .date(scene.clock.now()))
        scene.clock.advance(by: .seconds(7200))
        // Not noted by a backend; and what is noted of another one comes after what was not noted of this one.
        #expect(scene.get("bob").json["subscriber"]?["last_seen"] == .date(SubscriberFixture.start))
        _ = scene.get("eve", headers: ["X-Platform": "iOS"])
        try eventually("eve is noted") { try scene.database.count(seen) == scene.clock.now() }
        #expect(
            try scene.database.count("SELECT last_seen_ms FROM entitled.customer WHERE original_app_user_id = 'bob'")
                == SubscriberFixture.start)
    }

    /// This lock lets nobody write, and nobody lock a row: who tries is answered 503.
    @Test func `reading waits for nobody, cold or hot, though there is something to note`() throws {
        let scene = try SubscriberFixture { database in
            try database.execute("ALTER DATABASE \(database.name) SET lock_timeout = '2s'")
        }
        try scene.tell("bob")
        let holder = try scene.database.connect()
        for _ in ["cold", "hot"] {
            try holder.transaction {
                try holder.query("LOCK TABLE \(Self.allTables) IN EXCLUSIVE MODE")
                for _ in 0..<3 { #expect(scene.get("bob", headers: ["X-Platform": "iOS"]).status == 200) }
                #expect(scene.get("bob").json["subscriber"]?["subscriptions"]?["monthly"] != nil)
            }
            // What could not be noted is noted after a later reading.
            try eventually("a snapshot is kept") {
                _ = scene.get("bob")
                return try scene.database.count("SELECT count(*) FROM entitled.purchase_snapshot") == 1
            }
        }
    }

    @Test func `reading who is known takes exactly one statement`() throws {
        let scene = try SubscriberFixture { database in
            try database.execute("ALTER DATABASE \(database.name) SET log_statement = 'all'")
        }
        try scene.tell("bob")
        _ = scene.get("bob")
        try scene.untilKept(1)
        _ = scene.get("bob")
        let observer = try scene.database.connect()
        // The api also works on its own, so that a statement which is none of a reading may be seen beside it: of several, most
        // have none.
        let counts = try (0..<5).map { _ in
            try observer.query("SELECT 'from here'")
            #expect(scene.get("bob").status == 200)
            try observer.query("SELECT 'to here'")
            let log = try String(contentsOfFile: TestCluster.shared.folder + "/postgres/server.log", encoding: .utf8)
            let span = try #require(log.split(separator: "'from here'").last?.split(separator: "'to here'").first)
            #expect(span.contains("entitled.purchase_snapshot"))
            // Only databases that ask for it have their statements logged; the last one is the observer's.
            return span.matches(of: #/LOG: +execute /#).count - 1
        }
        #expect(counts.sorted()[2] == 1, "\(counts)")
    }
}
