import API
import AppStore
import Base
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Restores of accounts that are large, broken, or many at once.
@Suite struct RestoreLoadTests {
    private static let day = StoreProduct.day

    private let installation: Installation
    private let worker: RunningWorker

    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
    }

    private var database: TestDatabase { installation.database }

    private static let restore: KeyValuePairs<String, JSON?> = ["is_restore": .bool(true)]

    /// A subscriber who bought coins, too.
    private func life(_ seed: UInt64, _ number: UInt64 = 0, coins: Int = 1) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: seed, number: number, withToken: false)
        let began = SystemClock().now() - 20 * Self.day
        life.start(at: began)
        for number in 0..<coins { life.buyOnce(at: began + Self.day + Int64(number) * 60_000) }
        return life
    }

    private func jws(_ life: SubscriberLife, _ place: Int = 1) throws -> String {
        try PostingFixture.jws(life.notifications[place])
    }

    private func due(_ condition: String = "true") throws -> Int64 {
        try database.count("SELECT count(*) FROM entitled.account_look WHERE next_ms IS NOT NULL AND \(condition)")
    }

    @Test func `a long history comes in parts, each page once`() throws {
        defer { worker.stop() }
        let life = life(4200, coins: 150)
        let apple = try PlayedHistory(installation, life.notifications, faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(1))
        #expect(try bench.postUntilTaken(jws(life, 7), by: "carla", Self.restore).status == 200)
        apple.clearFaults()
        let before = apple.calls.count
        try apple.lookingThrough(as: worker.id, mostTransactions: 40) {
            try eventually("the history is read") { try due() == 0 }
        }
        // 151 transactions on 8 pages, and how the subscription stands.
        #expect(apple.calls.count - before == 9)
        try eventually("everything is carla's") {
            try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'carla'") == 151
        }
        #expect(try database.count("SELECT count(*) FROM entitled.account_look WHERE revision IS NULL") == 1)
        try installation.expectNoDifferences()
    }

    @Test func `a post between two parts of a history is given every part`() throws {
        defer { worker.stop() }
        let life = life(4201, coins: 60)
        let apple = try PlayedHistory(installation, life.notifications, faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(1))
        #expect(try bench.postUntilTaken(jws(life, 2), by: "carla", Self.restore).status == 200)
        // As if some pages had been read for her, before the next customer restores the same account.
        try database.execute("UPDATE entitled.account_look SET revision = 'a page of the past'")
        #expect(try bench.postUntilTaken(jws(life, 2), by: "dora", Self.restore).status == 200)
        #expect(try due("revision IS NULL") == 1)
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) { try eventually("it is read") { try due() == 0 } }
        try eventually("the subscription is the last customer's") {
            try database.texts("SELECT owner FROM entitled.purchase WHERE product_id = 'pro_monthly'") == ["dora"]
        }
        try installation.expectNoDifferences()
    }

    @Test func `a page that Apple does not know any more begins the history anew`() throws {
        defer { worker.stop() }
        let life = life(4202)
        let apple = try PlayedHistory(installation, life.notifications, faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(1))
        #expect(try bench.postUntilTaken(jws(life), by: "carla", Self.restore).status == 200)
        try database.execute("UPDATE entitled.account_look SET revision = 'a page of the past'")
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) { try eventually("it is read") { try due() == 0 } }
        try eventually("everything is carla's") {
            try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'carla'") == 2
        }
    }

    @Test func `one account that Apple cannot answer about holds up no other, and is asked about less and less`() throws
    {
        defer { worker.stop() }
        let broken = [life(4203, 0), life(4203, 1), life(4203, 2), life(4203, 3)]
        let well = [life(4203, 4), life(4203, 5)]
        let faults = broken.map { StoreFault(.garbage, path: "/subscriptions/\($0.oneTimePurchases[0].id)") }
        let apple = try PlayedHistory(installation, (broken + well).flatMap(\.notifications), faults: faults)
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(2))
        for life in broken {
            #expect(bench.post(try jws(life), by: life.account.appTransactionID, Self.restore).status == 200)
        }
        let calls = apple.calls.count
        #expect(try bench.postUntilTaken(jws(broken[3]), by: "again", Self.restore).status == 200)
        #expect(apple.calls.count == calls)
        // Apple is not unwell for the others.
        let answer = bench.post(try jws(well[0]), by: "carla", Self.restore)
        #expect(answer.json.subscriber?["entitlements"]?["pro"] != nil)
        #expect(try due() == 4)
        let late = try jws(well[1])
        try database.execute("UPDATE entitled.account_look SET attempts = 3 WHERE next_ms IS NOT NULL")
        try apple.lookingThrough(as: worker.id) {
            try eventually("each is put off") { try due("attempts = 4 AND turn = 1") == 4 }
            _ = bench.post(late, by: "dora", Self.restore)
            try eventually("others go on") {
                try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'dora'") == 2
            }
        }
        #expect(
            try database.count(
                """
                SELECT count(*) FROM entitled.account_look
                WHERE next_ms > extract(epoch FROM clock_timestamp()) * 1000 + 15000
                """) == 4)
    }

    @Test func `a restore goes before the first posts of many accounts, which all come to their accounts later`() throws
    {
        defer { worker.stop() }
        let lives = (UInt64(0)..<40).map { life(4204, $0) }
        // Apple is silent about all of them but the last.
        let faults = lives.dropLast().map {
            StoreFault(.slow, path: "/subscriptions/\($0.oneTimePurchases[0].id)", seconds: 30)
        }
        let apple = try PlayedHistory(installation, lives.flatMap(\.notifications), faults: faults)
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(8))
        let posts = try lives.dropLast().enumerated().map { number, life in
            let text = try jws(life)
            return TestThread { try bench.postUntilTaken(text, by: "user-\(number)").status }
        }
        try eventually("Apple is asked") { !apple.calls.isEmpty }
        let answer = try bench.postUntilTaken(jws(lives[39]), by: "carla", Self.restore)
        #expect(answer.json.subscriber?["entitlements"]?["pro"] != nil, "\(answer.text)")
        #expect(try posts.map { try $0.value(timeout: .seconds(60)) }.allSatisfy { $0 == 200 })
        #expect(try due("turn = 2") == 39)
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) {
            try eventually(timeout: .seconds(40), "all of them are whole") { try due() == 0 }
        }
        try eventually("each has their subscription") {
            try database.count("SELECT count(*) FROM entitled.purchase WHERE product_id = 'pro_monthly'") == 40
        }
        #expect(try database.count("SELECT count(DISTINCT owner) FROM entitled.purchase") == 40)
    }

    /// Posts of many accounts while Apple does not answer, from eight apps at once.
    private func postAll(_ texts: [String], to bench: PostingFixture, _ more: [KeyValuePairs<String, JSON?>]) throws {
        let posts = (0..<8).map { first in
            TestThread {
                try stride(from: first, to: texts.count, by: 8).allSatisfy { number in
                    try bench.postUntilTaken(texts[number], by: "user-\(number)", more[number % more.count]).status
                        == 200
                }
            }
        }
        #expect(try posts.map { try $0.value(timeout: .seconds(240)) }.allSatisfy { $0 })
    }

    @Test func `six hundred accounts that Apple was silent about are whole within a minute`() throws {
        defer { worker.stop() }
        let lives = (UInt64(0)..<600).map { life(4208, $0, coins: 1) }
        let apple = try PlayedHistory(installation, lives.flatMap(\.notifications), faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(8))
        // Restores, and first posts.
        try postAll(lives.map { try jws($0) }, to: bench, [Self.restore, [:]])
        #expect(try due("turn = 0") == 300)
        #expect(try due("turn = 2") == 300)
        // As after an outage in which each restore was tried.
        try database.execute("UPDATE entitled.account_look SET turn = 1, attempts = 1 WHERE turn = 0")
        apple.clearFaults()
        let began = ContinuousClock.now
        try apple.lookingThrough(as: worker.id, rest: .seconds(2)) {
            try eventually(timeout: .seconds(60), "all of them are whole") { try due() == 0 }
        }
        print("600 accounts: \((ContinuousClock.now - began).milliseconds) ms")
        try eventually("each has their subscription") {
            try database.count("SELECT count(*) FROM entitled.purchase WHERE product_id = 'pro_monthly'") == 600
        }
        // Nothing was asked twice, and no faster than Apple allows.
        #expect(apple.calls(of: "/history/").count { $0 == 200 } == 600)
        #expect(!apple.calls.contains(429))
    }

    @Test func `while Apple does not answer three accounts are tried at once, the others stay as they are`() throws {
        defer { worker.stop() }
        let lives = (UInt64(0)..<40).map { life(4209, $0) }
        let apple = try PlayedHistory(installation, lives.flatMap(\.notifications), faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(8))
        try postAll(lives.map { try jws($0) }, to: bench, [Self.restore])
        try apple.lookingThrough(as: worker.id) {
            // Three each time, which are kept one after the other; on a busy host one of them is due again before others.
            try eventually("three are tried") { try due("attempts > 0") == 3 }
            try eventually(timeout: .seconds(60), "others are") { try due("attempts > 0") >= 5 }
            #expect(try due("turn = 0") >= 30)
            #expect(try due("turn = 0 AND attempts > 0") == 0)
            apple.clearFaults()
            try eventually(timeout: .seconds(60), "all are whole") { try due() == 0 }
        }
    }

    @Test func `an account with ten thousand facts is restored as any other one`() throws {
        defer { worker.stop() }
        let life = life(4207)
        try installation.postAll(life.notifications)
        try installation.untilApplied(2)
        try database.execute(
            """
            INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq,
                header, payload, signature, source)
            SELECT lane, app, environment, original_transaction_id, gen_random_uuid(), kind, signed_ms, seq, header,
                payload, signature, source
            FROM entitled.fact, generate_series(1, 3400)
            WHERE original_transaction_id = $1
            """, [.text(life.latest.originalID)])
        let apple = try PlayedHistory(installation, life.notifications)
        let bench = try PostingFixture(installation, apple: apple)
        let began = ContinuousClock.now
        for _ in 0..<2 {
            let answer = try bench.postUntilTaken(jws(life), by: "carla", Self.restore)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json.subscriber?["entitlements"]?["pro"] != nil)
        }
        // Two calls, and again for a restore after a minute, as on a busy machine.
        let minutes = Int((ContinuousClock.now - began) / .seconds(60))
        #expect((2...2 + 2 * minutes).contains(apple.calls.count), "\(apple.calls.count) calls in \(minutes) min")
        #expect(try database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["carla"])
        try installation.expectNoDifferences()
    }

    @Test func `two customers who restore the same account at once get one owner, the same as without Apple`() throws {
        defer { worker.stop() }
        let life = life(4205, coins: 3)
        let apple = try PlayedHistory(installation, life.notifications)
        let bench = try PostingFixture(installation, apple: apple)
        let texts = try [jws(life, 1), jws(life, 2)]
        let posts = ["anna", "bert"].enumerated().map { number, id in
            TestThread { bench.post(texts[number], by: id, Self.restore) }
        }
        #expect(try posts.map { try $0.value().status } == [200, 200])
        let owners = try database.texts("SELECT owner FROM entitled.purchase WHERE product_id = 'pro_monthly'")
        #expect(owners == ["anna"] || owners == ["bert"])
        try installation.expectNoDifferences()
    }

    @Test func `programs work on a schema that does not remember of which accounts Apple was asked`() throws {
        let scene = try PlantedCustomer()
        defer { scene.end(); worker.stop() }
        let database = scene.installation.database
        try database.execute("DROP TABLE entitled.account_look")
        let export = try #require(try scene.export(scene.first.latest.originalID))
        #expect(export["purchases"]?.arrayValue?.first?["status_looks"]?.arrayValue?.count == 1)
        try scene.delete(.erase)
        #expect(try scene.owner(scene.first) == nil)
        let life = life(4206)
        let apple = try PlayedHistory(scene.installation, life.notifications)
        let bench = try PostingFixture(scene.installation, apple: apple)
        #expect(try bench.postUntilTaken(jws(life), by: "carla", Self.restore).status == 200)
        #expect(try database.texts("SELECT owner FROM entitled.purchase WHERE owner = 'carla'") == ["carla"])
        try apple.lookingThrough(as: worker.id) {}
        #expect(!apple.log.text.contains("account query run failed"), "\(apple.log.text)")
    }
}
