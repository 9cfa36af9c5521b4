import AppStoreAPI
import Base
import Daemon
import Database
import Duties
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Questions to Apple beside each other, and beside what goes wrong here.
@Suite struct InquiryMeetingTests {
    private static let day = StoreProduct.day
    private static let now = SystemClock().now()

    private static func life(_ number: UInt64) -> SubscriberLife {
        SubscriberLife(app: Installation.app, seed: 148, number: number)
    }

    /// A subscription of which Apple knows so many renewals more.
    private static func renewed(
        _ number: UInt64, times count: Int64 = 1
    ) -> (id: String, told: StoreNotification, untold: [StoreNotification]) {
        let period: Int64 = 3_600_000
        var life = life(number)
        let bought = life.start(lasts: period, at: now - (count + 1) * period + 60_000)
        let id = life.transaction(.latest).originalID
        let renewals = (0..<count).map { life.renew(lasts: period, at: now - (count - $0) * period + 60_000) }
        return (id, bought, renewals)
    }

    /// True so many times.
    private static func steps(_ most: Int) -> @Sendable () -> Bool {
        let count = Monitor(0)
        return {
            count.change { count in
                count += 1
                return count > most
            }
        }
    }

    @Test func `two long histories keep no third question waiting`() throws {
        let ones = [Self.renewed(1, times: 90), Self.renewed(2, times: 90), Self.renewed(3)]
        let fixture = try InquiryFixture(told: ones.map(\.told), apple: ones.flatMap { [$0.told] + $0.untold })
        let duty = fixture.duty(mostTransactions: 20)
        let jobs = try ones.prefix(2).map { try fixture.poll($0.id) }
        // Each has had a part.
        try fixture.run(duty, isDraining: Self.steps(2))
        let last = try fixture.poll(ones[2].id)
        try fixture.run(duty, isDraining: Self.steps(1))
        // It waits as they do; they have waited less.
        #expect(try fixture.change(last).state == .done)
        #expect(try jobs.allSatisfy { try fixture.change($0).state == .running })
        let turns = try jobs.map { _ in
            try fixture.installation.database.execute("SELECT pg_sleep(0.1)")
            try fixture.run(duty, isDraining: Self.steps(1))
            return try fixture.installation.database.texts(
                "SELECT id::text FROM entitled.job WHERE state = 'running' ORDER BY lease_until DESC LIMIT 1")
        }
        #expect(Set(turns).count == 2, "\(turns)")
    }

    @Test func `an app of which Apple answers nothing takes the time of the others once`() throws {
        let one = Self.renewed(4)
        let fixture = try InquiryFixture(told: [one.told], apple: [one.told] + one.untold)
        let unwell = try PlayedHistory(fixture.installation, [], faults: [StoreFault(.reset)])
        let app = JSON.object(["app": .string("another")])
        for number in 0..<3 { _ = try fixture.ask(.orderLookup, "M100000\(number)", app) }
        let poll = try fixture.poll(one.id)
        try fixture.run(fixture.duty(others: ["another": unwell]))
        #expect(try fixture.change(poll).state == .done)
        func count(_ condition: String) throws -> Int64 {
            try fixture.installation.database.count(
                "SELECT count(*) FROM entitled.job WHERE state = 'running' AND \(condition)")
        }
        #expect(try count("attempts = 1") == 1)
        #expect(try count("attempts = 0 AND driver IS NULL AND lease_until IS NOT NULL") == 2)
    }

    @Test func `a status is written once, however often the history fails behind it`() throws {
        let one = Self.renewed(5)
        let fixture = try InquiryFixture(
            told: [one.told], apple: [one.told] + one.untold, faults: [StoreFault(.error, path: "/history")])
        let job = try fixture.poll(one.id)
        for _ in 0..<2 {
            try fixture.run()
            try fixture.hurry()
            try eventually("it is applied") {
                try fixture.installation.database.count("SELECT count(*) FROM entitled.pending") == 0
            }
        }
        fixture.apple.clearFaults()
        try fixture.runAll()
        #expect(fixture.apple.calls(of: "/subscriptions/").count == 3)
        #expect(try fixture.sentence(job).contains("1 signed transaction was new"))
        // What was told, and the status with its transaction.
        #expect(try fixture.notifications == 3)
    }

    @Test(arguments: ["P0001", "40P01", "55P03"])
    func `what fails here is tried again within the same bound`(code: String) throws {
        let one = Self.renewed(6)
        let fixture = try InquiryFixture(told: [one.told], apple: [one.told] + one.untold)
        let database = fixture.installation.database
        try database.execute(
            """
            CREATE FUNCTION public.failing() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'it fails' USING ERRCODE = '\(code)'; END $$
            """)
        try database.execute(
            """
            CREATE TRIGGER failing BEFORE INSERT ON entitled.pending FOR EACH ROW EXECUTE FUNCTION public.failing()
            """)
        let job = try fixture.poll(one.id)
        for attempt in 1...7 {
            try fixture.run()
            #expect(
                try database.count("SELECT attempts FROM entitled.job WHERE state = 'running' AND driver IS NULL")
                    == Int64(attempt))
            try fixture.hurry()
            try database.execute("UPDATE entitled.job SET updated_ms = 0")
        }
        try fixture.run()
        let told = try fixture.sentence(job)
        #expect(told.hasPrefix("The last of 8 tries failed here (") && told.contains("it fails"), "\(told)")
        #expect(try fixture.audit == ["support status_poll failed"])
    }

    @Test(arguments: [false, true])
    func `nothing is kept of a purchase that is erased while Apple answers`(isOnHost: Bool) throws {
        let one = Self.renewed(7)
        let fixture = try InquiryFixture(
            told: [one.told], apple: [one.told] + one.untold,
            faults: [StoreFault(.slow, path: "/subscriptions/", seconds: 3)])
        let stored = try fixture.notifications
        let failures = Monitor<[String]>([])
        let erasing = ServiceThread("erasing") {
            do {
                try eventually("it is asked for") { !fixture.apple.calls(of: "/subscriptions/").isEmpty }
                try fixture.installation.database.execute("DELETE FROM entitled.purchase")
            } catch { failures.change { $0.append("\(error)") } }
        }
        if isOnHost {
            var inquiry = HostInquiry(lookups: ["demo": fixture.lookup(fixture.apple)])
            let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: one.id)
            let ending = try inquiry.poll(key, on: fixture.operating())
            #expect(ending == .refused("The purchase was erased while Apple answered."), "\(ending)")
        } else {
            let job = try fixture.poll(one.id)
            try fixture.run()
            #expect(try fixture.sentence(job).contains("was deleted"))
            #expect(try fixture.change(job).target != one.id)
        }
        erasing.join()
        #expect(failures.read { $0 } == [])
        #expect(try fixture.notifications == stored)
    }
}
