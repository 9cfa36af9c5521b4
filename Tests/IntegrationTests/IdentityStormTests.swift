import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Hundreds of calls about one family of ids at once, beside workers that apply notifications about its purchases.
@Suite struct IdentityStormTests {
    /// Numbers that differ by thread and come again with the same seed.
    private struct Dice {
        var state: UInt64

        mutating func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(sides))
        }

        mutating func pick<Value>(_ values: [Value]) throws -> Value {
            try #require(values.isEmpty ? nil : values[roll(values.count)])
        }
    }

    private static let tokens = (0..<4).map { "cccccccc-0000-4000-8000-00000000000\($0)" }
    private static let anonymous = (0..<8).map { "$RCAnonymousID:\(String(repeating: "\($0)", count: 32))" }
    private static let family = tokens + anonymous + (0..<6).map { "person-\($0)" }
    private static let threads = 24
    private static let calls = 24

    /// A family's purchases: some with a token, some without, some that get one later.
    private struct Household {
        var lives: [SubscriberLife]
        var first: [StoreNotification] = []
        var later: [StoreNotification] = []
        let keys: [PurchaseKey]

        init() {
            lives = (UInt64(0)..<12).map { SubscriberLife(app: Installation.app, seed: 95, number: $0) }
            for place in lives.indices {
                lives[place].account.token = IdentityStormTests.tokens[place % 4]
                let start = lives[place].start(at: Installation.start)
                first.append(place % 3 == 0 ? start : start.withoutToken)
            }
            for round in Int64(1)...6 {
                for place in lives.indices {
                    let at = Installation.start + round * 3_600_000
                    let news = round % 2 == 1 ? lives[place].autoRenewOff(at: at) : lives[place].autoRenewOn(at: at)
                    later.append(place % 3 == 1 ? news.withoutToken : news)
                }
            }
            keys = lives.map {
                PurchaseKey(app: "demo", environment: .production, originalTransactionID: $0.latest.originalID)
            }
        }
    }

    /// One call, as an app or a backend makes it.
    ///
    /// - Throws: what must not come through.
    private static func call(
        _ dice: inout Dice, _ household: [PurchaseKey], deletes: Bool, on connection: PostgresConnection
    ) throws {
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        let id = try dice.pick(family)
        do {
            switch dice.roll(deletes ? 14 : 12) {
            case 0...3: _ = try actions.identify(id, as: try dice.pick(family), on: connection)
            case 4...6:
                let settings = RestoreSettings(general: try dice.pick(RestoreBehavior.allCases))
                _ = try actions.claim(try dice.pick(household), by: id, settings: settings, on: connection)
            case 7, 8:
                let value = JSON.object([
                    "value": .string("\(dice.roll(1000))"), "updated_at_ms": .int(Int64(dice.roll(50))),
                ])
                let faults = try actions.setAttributes(.object(["k": value, "$email": value]), of: id, on: connection)
                guard faults?.map(\.key) == ["$email"] else {
                    throw TestFailure("attributes: \(String(describing: faults))")
                }
            case 9, 10:
                try actions.admit(id, on: connection)
                _ = try actions.setRestoreBehavior(try dice.pick(RestoreBehavior.allCases), of: id, on: connection)
            case 11:
                try actions.admit(id, on: connection)
                _ = try actions.alias(id, try dice.pick(family), on: connection)
            default: _ = try actions.delete(id, on: connection)
            }
        } catch CustomerActions.Rejection.restore {
            // The owner keeps it.
        } catch CustomerActions.Rejection.unknown {
            // Deleted, or not bought yet.
        } catch CustomerActions.Rejection.busy {
            // Overtaken again and again: the caller is told to come again.
        }
    }

    private func storm(deletes: Bool) throws -> Installation {
        let installation = try Installation()
        let workers = try (0..<2).map { _ in try RunningWorker(installation, lease: .seconds(4)) }
        defer { for worker in workers { worker.stop() } }
        let household = Household()
        try installation.postAll(household.first)
        let (database, keys, later) = (installation.database, household.keys, household.later)
        let posting = TestThread { try installation.postAll(later) }
        let callers = (0..<Self.threads).map { number in
            TestThread {
                let connection = try database.connect(role: "entitled_api")
                var dice = Dice(state: UInt64(number + 1) &* 0x9e37_79b9_7f4a_7c15)
                for _ in 0..<Self.calls {
                    try Self.call(&dice, keys, deletes: deletes, on: connection)
                }
            }
        }
        for caller in callers { try caller.value(timeout: .seconds(300)) }
        try posting.value(timeout: .seconds(300))
        try installation.untilApplied(Int64(household.first.count + later.count), timeout: .seconds(120))
        try installation.untilJudged()
        #expect(try installation.heldReasons() == [])
        return installation
    }

    /// What holds after anything.
    private func expectWhole(_ installation: Installation) throws {
        let database = installation.database
        let lost = [
            "ids of nobody": """
            SELECT count(*) FROM entitled.app_user_id a WHERE NOT EXISTS (
                SELECT 1 FROM entitled.customer c WHERE c.original_app_user_id = a.original_app_user_id)
            """,
            "customers without their id": """
            SELECT count(*) FROM entitled.customer c WHERE NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id a WHERE a.id = c.original_app_user_id
                    AND a.original_app_user_id = a.id)
            """,
            "purchases of nobody": """
            SELECT count(*) FROM entitled.purchase p WHERE NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id a WHERE a.id = p.owner)
            """,
            "attributes of nobody": """
            SELECT count(*) FROM entitled.customer_attribute s WHERE NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id a WHERE a.id = s.app_user_id)
            """,
        ]
        for (name, count) in lost { #expect(try database.count(count) == 0, "\(name)") }
        #expect(try database.count("SELECT count(*) FROM entitled.purchase") == 12)
        #expect(
            try database.count("SELECT count(*) FROM entitled.event WHERE type = 'TRANSFER'")
                == (try database.count("SELECT count(*) FROM entitled.action WHERE kind IN ('transfer', 'move')")))
        try installation.expectNoDifferences()
    }

    @Test func `everything at once ends in one consistent customer`() throws {
        let installation = try storm(deletes: false)
        try expectWhole(installation)
        // The last ones join what is left apart, all at the same time and in no order.
        let database = installation.database
        let ring = zip(Self.family, Self.family.dropFirst() + Self.family.prefix(1)).map { one, two in
            TestThread {
                let actions = CustomerActions(
                    origin: ActionTable.Origin(actor: "tester"),
                    foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
                let connection = try database.connect(role: "entitled_api")
                try actions.admit(one, on: connection)
                _ = try actions.alias(one, two, on: connection)
            }
        }
        for thread in ring { try thread.value(timeout: .seconds(120)) }
        let worker = try RunningWorker(installation, lease: .seconds(4))
        defer { worker.stop() }
        try installation.untilJudged()
        try expectWhole(installation)
        let connection = try database.connect(role: "entitled_api")
        let customers = try CustomerTable.load(Set(Self.family), on: connection)
        #expect(customers.count == Self.family.count)
        #expect(Set(customers.values.map(\.originalAppUserID)).count == 1)
        let words = try database.texts(
            "SELECT detail::json ->> 'restore_behavior' FROM entitled.action WHERE kind = 'restore_behavior' ORDER BY seq"
        )
        #expect(
            try database.texts(
                "SELECT restore_behavior FROM entitled.customer WHERE original_app_user_id = $1",
                [.text(try #require(customers.values.first).originalAppUserID)]) == words.suffix(1))
        // Of every id the newest write counts, whoever became one with whom, and when.
        let newest = try database.texts(
            "SELECT value FROM entitled.customer_attribute WHERE key = 'k' ORDER BY updated_ms DESC, value DESC LIMIT 1"
        )
        #expect(customers.values.first?.attributes.all["k"]?.value == newest.first)
    }

    @Test func `with deletions among it nothing is left half`() throws {
        try expectWhole(try storm(deletes: true))
    }
}
