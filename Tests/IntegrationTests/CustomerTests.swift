import Base
import Database
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@Suite struct CustomerTests {
    @Test func `an anonymous customer who turns out to be somebody becomes an alias`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 30)
        let token = try #require(life.account.token)
        #expect(try installation.post(life.start(at: Installation.start).withoutToken).status == 200)
        try installation.untilApplied(1)
        let connection = try installation.database.connect()
        let before = try #require(
            try CustomerQuery.find(anyID: life.latest.originalID, foldSettings: FoldSettings(), on: connection)?
                .customer)
        #expect(before.originalAppUserID.hasPrefix("$RCAnonymousID:"))
        let later = life.autoRenewOff(at: Installation.start + StoreProduct.day)
        #expect(try installation.post(later).status == 200)
        try installation.untilApplied(2)
        let after = try #require(
            try CustomerQuery.find(anyID: life.latest.originalID, foldSettings: FoldSettings(), on: connection)?
                .customer)
        #expect(after.originalAppUserID == before.originalAppUserID)
        #expect(Set(after.appUserIDs) == [token, before.originalAppUserID])
        #expect(
            try CustomerQuery.find(anyID: before.originalAppUserID, foldSettings: FoldSettings(), on: connection)?
                .customer == after
        )
        #expect(try installation.database.count("SELECT count(*) FROM entitled.customer") == 1)
    }

    @Test func `a customer's purchases in many lanes, applied by several workers at once, are one customer's`() throws {
        let installation = try Installation()
        var life = SubscriberLife(app: Installation.app, seed: 31)
        var notifications = [life.start(at: Installation.start)]
        for number in Int64(1)...60 { notifications.append(life.buyOnce(at: Installation.start + number)) }
        let workers = try (0..<3).map { _ in try RunningWorker(installation, lease: .seconds(2)) }
        defer { for worker in workers { worker.stop() } }
        for worker in workers { try worker.log.wait(for: "lanes gained") }
        try installation.postAll(notifications)
        try installation.untilApplied(61)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.customer") == 1)
        #expect(try installation.purchaseRows().count == 61)
        #expect(try installation.heldReasons() == [])
        for worker in workers { #expect(!worker.log.text.contains("lane cycle failed")) }
    }
}

@Suite struct TimerTests {
    @Test func `an end that passes without a notification is told once`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let begun = SystemClock().now() - 3 * StoreProduct.day
        // The sandbox says nothing twice: what comes late there is not waited for.
        var life = SubscriberLife(app: Installation.sandbox, seed: 40)
        let started = life.start(lasts: StoreProduct.day, at: begun)
        let cancelled = life.autoRenewOff(at: begun + 1000)
        try installation.postAll([started, cancelled])
        let requests = try consumer.wait(3)
        let ids = requests.filter { $0.type == "EXPIRATION" }.map(\.id)
        #expect(ids.count == 1)
        // Apple's own word comes late, and tells nothing new.
        try installation.postAll([life.expire(at: life.expires + 1000)])
        try installation.untilApplied(3)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event WHERE type = 'EXPIRATION'") == 1)
    }

    @Test func `a subscription that should have renewed is confirmed to go on for a while`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let begun = SystemClock().now() - StoreProduct.day
        // One ended an hour ago, within the patience; the other two days ago, beyond it.
        var patient = SubscriberLife(app: Installation.sandbox, seed: 41, number: 1)
        var over = SubscriberLife(app: Installation.sandbox, seed: 41, number: 2)
        try installation.postAll([
            patient.start(lasts: StoreProduct.day - 3_600_000, at: begun),
            over.start(lasts: StoreProduct.day, at: begun - 2 * StoreProduct.day),
        ])
        let ended = "SELECT original_transaction_id FROM entitled.event WHERE type = 'EXPIRATION'"
        try eventually("the end that is long past is told") { try !installation.database.texts(ended).isEmpty }
        try installation.untilApplied(2)
        #expect(try installation.database.texts(ended) == [over.latest.originalID])
    }
}
