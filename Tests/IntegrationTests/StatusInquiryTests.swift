import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Duties
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Operators ask Apple how a purchase stands, through a worker.
@Suite struct StatusInquiryTests {
    private static let day = StoreProduct.day
    private static let now = SystemClock().now()

    private static func life(_ number: UInt64 = 1) -> SubscriberLife {
        SubscriberLife(app: Installation.app, seed: 146, number: number)
    }

    /// A subscription whose renewal was missed.
    private static func missed(_ number: UInt64 = 1) -> (id: String, told: StoreNotification, untold: StoreNotification)
    {
        var life = life(number)
        let bought = life.start(lasts: 5 * day, at: now - 6 * day)
        return (life.transaction(.latest).originalID, bought, life.renew(lasts: 5 * day, at: now - day))
    }

    @Test func `a renewal that was missed is stored and told, and asked again nothing is new`() throws {
        let one = Self.missed()
        let fixture = try InquiryFixture(told: [one.told], apple: [one.told, one.untold])
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try fixture.installation.addEndpoint(consumer)
        let job = try fixture.poll(one.id)
        try fixture.runAll()
        #expect(
            try fixture.sentence(job) == "Apple answered. 1 signed transaction was new. The subscription is active.")
        try fixture.installation.untilDeliveries(1, .delivered)
        #expect(
            try fixture.installation.database.texts("SELECT type FROM entitled.event ORDER BY 1")
                == ["INITIAL_PURCHASE", "RENEWAL"])
        try fixture.installation.expectNoDifferences()
        let stored = try fixture.notifications
        let again = try fixture.poll(one.id)
        try fixture.runAll()
        #expect(
            try fixture.sentence(again) == "Apple answered. Nothing that it signed was new. The subscription is active."
        )
        #expect(try fixture.notifications == stored)
        #expect(try fixture.audit == ["support status_poll done", "support status_poll done"])
        // Where it was is said by ids, and no more than it takes.
        #expect(try fixture.installation.database.count("SELECT count(*) FROM entitled.job WHERE cursor <> '{}'") == 0)
        #expect(fixture.log.text.contains("change finished"))
    }

    @Test func `a purchase that is no subscription is asked about, and no other of its account is touched`() throws {
        var life = Self.life(3)
        let subscribed = life.start(lasts: 30 * Self.day, at: Self.now - 6 * Self.day)
        let coins = life.buyOnce(at: Self.now - 3 * Self.day)
        let id = life.transaction(.oneTime(0)).id
        let refund = life.refund(.oneTime(0), at: Self.now - Self.day)
        let fixture = try InquiryFixture(told: [coins], apple: [subscribed, coins, refund])
        let job = try fixture.poll(id)
        try fixture.runAll()
        #expect(try fixture.sentence(job) == "Apple answered. 1 signed transaction was new.")
        try eventually("it is applied") {
            try fixture.installation.database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        #expect(try fixture.installation.database.count("SELECT count(*) FROM entitled.purchase") == 1)
        #expect(
            try fixture.installation.database.count("SELECT count(*) FROM entitled.purchase WHERE revoked_ms > 0") == 1)
    }

    // MARK: - Long histories, and ends of workers

    @Test func `a long history is written in parts, and a worker goes on where another one was killed`() throws {
        var life = Self.life(4)
        let (period, count): (Int64, Int64) = (3_600_000, 480)
        var known = [life.start(lasts: period, at: Self.now - count * period + 60_000)]
        for number in 1..<count {
            known.append(life.renew(lasts: period, at: Self.now - (count - number) * period + 60_000))
        }
        let fixture = try InquiryFixture(told: [known[0]], apple: known)
        let job = try fixture.poll(life.transaction(.latest).originalID)
        // Killed after its first part.
        let parts = Monitor(0)
        try fixture.run(
            fixture.duty(mostTransactions: 160),
            isDraining: {
                parts.change { count in
                    count += 1
                    return count > 1
                }
            })
        let first = try fixture.change(job)
        #expect(first.state == .running && first.outcome == nil)
        #expect(fixture.apple.calls(of: "/history").count == 8)
        #expect((150...170).contains(try fixture.notifications))
        try fixture.runAll(fixture.duty(mostTransactions: 160))
        let told = try fixture.sentence(job)
        #expect(told == "Apple answered. 479 signed transactions were new. The subscription is active.", "\(told)")
        // No page was asked for twice.
        #expect(fixture.apple.calls(of: "/history").count == 24)
        #expect(fixture.apple.calls(of: "/subscriptions/").count == 1)
        let largest = try fixture.installation.database.count(
            """
            SELECT max(n) FROM (
                SELECT count(*) AS n FROM entitled.notification WHERE source <> 0 GROUP BY xmin::text) parts
            """)
        #expect(largest > 100 && largest <= 180)
        try eventually(timeout: .seconds(60), "all is applied") {
            try fixture.installation.database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        try fixture.installation.expectNoDifferences()
    }

    @Test func `a worker that ends while Apple answers leaves it to another one, with what came`() throws {
        let one = Self.missed(5)
        let cancellation = Cancellation()
        let fixture = try InquiryFixture(
            told: [one.told], apple: [one.told, one.untold], faults: [StoreFault(.slow, path: "/history", seconds: 5)])
        let job = try fixture.poll(one.id)
        let ending = ServiceThread("ending") {
            try? eventually("the history is asked for") { !fixture.apple.calls(of: "/history").isEmpty }
            cancellation.cancel()
        }
        try fixture.run(fixture.duty(cancellation: cancellation), isDraining: { cancellation.isCancelled })
        ending.join()
        #expect(try fixture.change(job).state == .running)
        // The status, with its transaction, came before.
        #expect(try fixture.notifications > 1)
        #expect(
            try fixture.installation.database.count(
                "SELECT count(*) FROM entitled.job WHERE driver IS NULL AND lease_until <= clock_timestamp()") == 1)
        fixture.apple.clearFaults()
        try fixture.runAll()
        #expect(
            try fixture.sentence(job) == "Apple answered. 1 signed transaction was new. The subscription is active.")
    }

    @Test func `two workers ask about each purchase once`() throws {
        let ones = (10..<22).map { Self.missed(UInt64($0)) }
        let fixture = try InquiryFixture(told: ones.map(\.told), apple: ones.flatMap { [$0.told, $0.untold] })
        let jobs = try ones.map { try fixture.poll($0.id) }
        let failures = Monitor<[String]>([])
        let threads = (0..<2).map { number in
            ServiceThread("worker-\(number)") {
                do {
                    var duty = fixture.duty()
                    let run = DutyRun(
                        session: PostgresSession(fixture.installation.database.target(role: "entitled_worker")),
                        leadership: Leadership(
                            worker: [UInt8](repeating: UInt8(number), count: 16), lease: .seconds(10)))
                    for _ in 0..<40 { _ = try duty.run(run) }
                } catch { failures.change { $0.append("\(error)") } }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.read { $0 } == [])
        #expect(try jobs.allSatisfy { try fixture.sentence($0).contains("1 signed transaction was new") })
        #expect(try fixture.audit == jobs.map { _ in "support status_poll done" })
        #expect(fixture.apple.calls(of: "/subscriptions/").count == jobs.count)
    }

    // MARK: - What Apple answers instead

    @Test(
        arguments: [
            (StoreFault(.unauthorized), "Apple takes no key of the app"),
            (StoreFault(.garbage), "Nothing was kept of Apple's answer, which cannot be used"),
            (StoreFault(.error), "Apple's server failed at the last of 8 tries"),
            (StoreFault(.badGateway), "Apple's server failed at the last of 8 tries"),
            (StoreFault(.reset), "Apple gave no answer at the last of 8 tries"),
            (StoreFault(.rateLimited, seconds: 0), "Apple turned the last of 8 tries away"),
            (
                StoreFault(.rateLimited, seconds: 3600),
                "Apple was not asked at the last of 8 tries: its rate limit holds the app's requests back until 2"
            ),
            (StoreFault(.notFound), "Apple knows no such transaction of this app and environment"),
        ])
    func `each failure has its own sentence, and what passes is tried again within a bound`(
        fault: StoreFault, sentence: String
    ) throws {
        let one = Self.missed(6)
        let fixture = try InquiryFixture(told: [one.told], faults: [fault])
        let job = try fixture.poll(one.id)
        try fixture.runAll()
        let told = try fixture.sentence(job)
        #expect(told.hasPrefix(sentence), "\(told)")
        #expect(try fixture.notifications == 1)
    }

    @Test func `what passes is put off, longer each time, and goes on when Apple is well`() throws {
        let one = Self.missed(7)
        let fixture = try InquiryFixture(
            told: [one.told], apple: [one.told, one.untold], faults: [StoreFault(.error)])
        let job = try fixture.poll(one.id)
        var waits: [Int64] = []
        for _ in 0..<3 {
            try fixture.run()
            waits.append(
                try fixture.installation.database.count(
                    "SELECT round(extract(epoch FROM lease_until - clock_timestamp()))::int8 FROM entitled.job"))
            try fixture.hurry()
        }
        #expect(waits == [1, 2, 4])
        fixture.apple.clearFaults()
        try fixture.runAll()
        #expect(try fixture.sentence(job).contains("1 signed transaction was new"))
    }

    @Test func `what fails for one purchase takes no answer of another away`() throws {
        let (bad, good) = (Self.missed(8), Self.missed(9))
        let fixture = try InquiryFixture(
            told: [bad.told, good.told], apple: [bad, good].flatMap { [$0.told, $0.untold] },
            faults: [StoreFault(.error, path: bad.id)])
        let jobs = try [fixture.poll(bad.id), fixture.poll(good.id)]
        try fixture.run()
        #expect(try fixture.sentence(jobs[1]).contains("1 signed transaction was new"))
        #expect(try fixture.change(jobs[0]).state == .running)
    }

    // MARK: - What is asked for wrongly

    @Test func `what is not as the console writes it is refused, and Apple is not asked`() throws {
        let one = Self.missed(30)
        let fixture = try InquiryFixture(told: [one.told])
        let forged: [(ChangeKind, String, String)] = [
            (.statusPoll, "2000000999999999", InquiryFixture.place.text),
            (.statusPoll, one.id, #"{"app":"demo","environment":"Sandbox"}"#),
            (.statusPoll, one.id, #"{"app":"other","environment":"Production"}"#),
            (.statusPoll, one.id, #"{"app":"demo","environment":"Production","purchase":"2000000999999999"}"#),
            (.statusPoll, one.id, #"{"app":["demo"],"environment":"Production"}"#),
            (.statusPoll, one.id, #"{"app":"\#(String(repeating: "a", count: 16_000))","environment":"Production"}"#),
            (.statusPoll, one.id, String(repeating: "[", count: 16_000)), (.statusPoll, one.id, "{"),
            (.statusPoll, one.id, "null"), (.statusPoll, one.id, ""),
            (.statusPoll, "../lookup/MK5TTTVWJH", InquiryFixture.place.text),
            (.statusPoll, String(repeating: "9", count: 1_024), InquiryFixture.place.text),
            (.orderLookup, "../history", "{}"), (.orderLookup, String(repeating: "M", count: 1_024), "{}"),
            (.orderLookup, "MK5TTTVWJH", #"{"app":"other"}"#), (.orderLookup, "MK5TTTVWJH", #"{"order_id":"MX"}"#),
            (.orderLookup, "MK5TTTVWJH", #"{"app":1}"#),
        ]
        let console = try fixture.console()
        for (number, (kind, target, parameters)) in forged.enumerated() {
            try console.query(
                """
                INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                    idempotency_key, request_hash, credential, address)
                VALUES ($1, 'r', $2, 'support', 1, 1, $3, 'why', $4, sha256(''), 'session s', 'a')
                """, [.text(kind.rawValue), .text(parameters), .text(target), .text("forged-\(number)")])
            try fixture.run()
            let change = try #require(
                try fixture.installation.database.texts(
                    "SELECT concat_ws(' ', state, error) FROM entitled.job ORDER BY id DESC LIMIT 1"
                ).first)
            #expect(change.hasPrefix("failed ") && change.hasSuffix("."), "\(number) \(change)")
        }
        #expect(fixture.apple.calls == [])
        #expect(try fixture.audit.allSatisfy { $0.hasSuffix("refused") })
        #expect(try fixture.audit.count == forged.count)
    }

    @Test(arguments: OperatorRole.allCases, ChangeKind.inquiries)
    func `a role asks what it may, and nothing else`(role: OperatorRole, kind: ChangeKind) throws {
        let fixture = try InquiryFixture(told: [])
        let job = try fixture.ask(kind, "M0000000", .object([JSON.Member]()), as: role.rawValue)
        try fixture.run()
        let told = try fixture.sentence(job)
        #expect(told.contains("it needs one of") != [.support, .operator].contains(role), "\(told)")
    }

    @Test func `so many questions wait at most, of one operator and of all`() throws {
        let fixture = try InquiryFixture(told: [])
        for number in 0..<ChangeTable.mostInquiries { _ = try fixture.poll("200000000000\(1000 + number)") }
        let own = #expect(throws: ChangeTable.TooManyInquiries.self) { try fixture.poll("2000000000000001") }
        #expect(own?.isOwn == true)
        _ = try fixture.ask(.note, "anna", .object(["text": .string("other changes are")]))
        for user in ["operator", "finance", "read"] {
            for number in 0..<ChangeTable.mostInquiries {
                _ = try fixture.ask(.orderLookup, "M\(100_000 + number)", .object([JSON.Member]()), as: user)
            }
        }
        let all = #expect(throws: ChangeTable.TooManyInquiries.self) {
            try fixture.ask(.orderLookup, "M1234567", as: "integrator")
        }
        #expect(all?.isOwn == false)
        // A console that does not count.
        try fixture.console().query(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                idempotency_key, request_hash, credential, address)
            SELECT 'order_lookup', 'r', '{}', 'support', 1, 1, 'MFORGED' || n, 'why', 'f' || n, sha256(''), 'session s', 'a'
            FROM generate_series(1, 200) n
            """)
        try fixture.installation.database.execute(
            "UPDATE entitled.job SET lease_until = 'infinity' WHERE target NOT LIKE 'MFORGED%'")
        try fixture.run()
        #expect(
            try fixture.installation.database.count(
                "SELECT count(*) FROM entitled.job WHERE error LIKE '16 earlier questions%' AND target LIKE 'MFORGED%'")
                == 200)
        #expect(fixture.apple.calls == [])
    }

    // MARK: - Deleted customers

    @Test(arguments: DeletionPolicy.allCases)
    func `a purchase of a customer who is deleted meanwhile is not asked about`(policy: DeletionPolicy) throws {
        let one = Self.missed(31)
        let fixture = try InquiryFixture(told: [one.told], apple: [one.told, one.untold])
        let owner = try #require(try fixture.installation.database.texts("SELECT owner FROM entitled.purchase").first)
        let job = try fixture.poll(one.id)
        try fixture.delete(owner, policy)
        try fixture.run()
        #expect(try fixture.sentence(job).contains("was deleted"))
        #expect(fixture.apple.calls == [])
    }

    @Test(arguments: DeletionPolicy.allCases)
    func `a deletion takes purchases and orders from what was asked of Apple`(policy: DeletionPolicy) throws {
        let (one, other) = (Self.missed(32), Self.missed(33))
        let fixture = try InquiryFixture(
            told: [one.told, other.told], apple: [one, other].flatMap { [$0.told, $0.untold] })
        let order = "M" + String(try #require(UInt64(one.id)), radix: 36, uppercase: true)
        let foreign = "M" + String(try #require(UInt64(other.id)), radix: 36, uppercase: true)
        let none = JSON.object([JSON.Member]())
        _ = try [
            fixture.poll(one.id), fixture.ask(.orderLookup, order, none), fixture.ask(.orderLookup, foreign, none),
            fixture.ask(.orderLookup, "M0000000", none),
        ]
        try fixture.runAll()
        // Under its way when the customer is deleted.
        _ = try fixture.ask(.orderLookup, order, none)
        func rows() throws -> [String] {
            try fixture.installation.database.texts(
                """
                SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a
                """)
        }
        #expect(try rows().count { $0.contains(one.id) } >= 3)
        let owner = try #require(
            try fixture.installation.database.texts(
                "SELECT owner FROM entitled.purchase WHERE original_transaction_id = '\(one.id)'"
            ).first)
        try fixture.delete(owner, policy)
        let left = try rows()
        #expect(left.allSatisfy { !$0.contains(one.id) && !$0.contains(order) }, "\(left)")
        #expect(left.count { $0.contains(foreign) } == 2 && left.count { $0.contains(other.id) } == 1, "\(left)")
        try fixture.runAll()
        #expect(try rows().allSatisfy { !$0.contains(one.id) && !$0.contains(order) })
    }
}
