import Base
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Ends that the worker tells, and those that it must not.
@Suite struct UntoldEndTests {
    private static let day = StoreProduct.day

    private static func count(_ type: String, _ installation: Installation) throws -> Int64 {
        try installation.database.count("SELECT count(*) FROM entitled.event WHERE type = $1", [.text(type)])
    }

    @Test(arguments: [JSON?.none, .string("1791000000000")])
    func `a transaction whose end cannot be read is held, and gives nothing`(expires: JSON?) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 41)
        let started = life.start(at: Installation.start).changing { $0.with("expiresDate", expires) }
        #expect(try installation.post(started).status == 200)
        try eventually("it is held") { try !installation.heldReasons().isEmpty }
        let reason = try #require(try installation.heldReasons().first)
        #expect(reason.hasPrefix("the transaction ") && reason.hasSuffix("expiresDate"))
        #expect(try installation.database.count("SELECT count(*) FROM entitled.purchase") == 0)
        #expect(try Self.count("INITIAL_PURCHASE", installation) == 0)
        // What comes later of it is applied.
        #expect(try installation.post(life.autoRenewOff(at: Installation.start + Self.day)).status == 200)
        try installation.untilApplied(2)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.purchase") == 1)
    }

    @Test func `an end that was told is not told again because it was moved between past instants`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 42)
        let begun = Installation.start - 30 * Self.day
        #expect(try installation.post(life.start(at: begun)).status == 200)
        #expect(try installation.post(life.autoRenewOff(at: begun + Self.day)).status == 200)
        #expect(try installation.post(life.expire(at: life.expires)).status == 200)
        try installation.untilApplied(3)
        #expect(try Self.count("EXPIRATION", installation) == 1)
        #expect(try installation.post(life.extend(days: 5, at: life.expires + Self.day)).status == 200)
        try installation.untilApplied(4)
        // Whatever comes next looks at the end again.
        #expect(try installation.post(life.notify("METADATA_UPDATE", at: life.expires + Self.day)).status == 200)
        try installation.untilApplied(5)
        #expect(try Self.count("EXPIRATION", installation) == 1)
        #expect(try Self.count("SUBSCRIPTION_EXTENDED", installation) == 0)
        try installation.expectNoDifferences()
    }

    @Test(arguments: [true, false])
    func `a subscription that goes on under another id ends for nobody`(isLinked: Bool) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var old = SubscriberLife(app: Installation.app, seed: 43)
        let begun = Installation.start - 40 * Self.day
        #expect(try installation.post(old.start(at: begun)).status == 200)
        #expect(try installation.post(old.renew(at: old.expires)).status == 200)
        var new = SubscriberLife(app: Installation.app, seed: 44)
        let moved = new.start(at: old.expires - Self.day).changing {
            isLinked ? $0.with("previousOriginalTransactionId", .string(old.latest.originalID)) : $0
        }
        #expect(try installation.post(moved).status == 200)
        try installation.untilApplied(3)
        #expect(try installation.post(old.expire(at: old.expires)).status == 200)
        try installation.untilApplied(4)
        #expect(try Self.count("INITIAL_PURCHASE", installation) == (isLinked ? 1 : 2))
        #expect(try Self.count("RENEWAL", installation) == (isLinked ? 2 : 1))
        #expect(try Self.count("EXPIRATION", installation) == (isLinked ? 0 : 1))
        try installation.expectNoDifferences()
    }

    @Test func `what runs for a time by the configuration ends, and its end is told`() throws {
        let installation = try Installation()
        let settings = FoldSettings(
            defaultGrace: .seconds(3 * 86_400), durations: ["season_pass": .time(10 * Self.day)])
        let worker = try RunningWorker(installation, foldSettings: settings)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 45)
        #expect(try installation.post(life.buyOnce(.seasonPass, at: Installation.start)).status == 200)
        try installation.untilApplied(1)
        try eventually("its end is told") { try Self.count("EXPIRATION", installation) == 1 }
        #expect(
            try installation.database.count("SELECT access_ends_ms FROM entitled.purchase")
                == Installation.start + 10 * Self.day)
        // Without the duration the records are others, and rebuilding says so.
        #expect(try installation.differences().isEmpty == false)
    }
}

extension StoreNotification {
    /// The same with another transaction inside.
    fileprivate func changing(_ change: (JSON) -> JSON) -> StoreNotification {
        var changed = self
        if case .data(let fields, let transaction, let renewal, let status) = content {
            changed.content = .data(
                fields, transaction: transaction.map(change), renewal: renewal, status: status)
        }
        return changed
    }
}
