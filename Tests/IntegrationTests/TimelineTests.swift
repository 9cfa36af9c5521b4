import Base
import Database
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@Suite struct TimelineTests {
    /// The replay is another way to the same events: none may be missing, and none too many.
    @Test(arguments: [UInt64(1), 2, 3])
    func `the timelines name every event that was sent, and say that it was delivered`(seed: UInt64) throws {
        let installation = try Installation()
        let consumer = try Consumer()
        let endpoint = try installation.addEndpoint(consumer).id
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let now = SystemClock().now()
        let scenario = seed == 1 ? Scenario.everyKind : .year
        let notifications = (UInt64(0)..<(seed == 1 ? 1 : 3)).flatMap {
            scenario.notifications(app: Installation.app, seed: seed, number: $0, until: now)
        }
        for notification in notifications { #expect(try installation.post(notification).status == 200) }
        try installation.untilApplied(Int64(Set(notifications.map(\.uuid)).count))
        let connection = try installation.database.connect(role: "entitled_api")
        let sent = "SELECT upper(id::text) FROM entitled.event ORDER BY 1"
        try eventually("everything is delivered") {
            try installation.database.count("SELECT count(*) FROM entitled.delivery WHERE state <> 1") == 0
        }
        let owners = try installation.database.texts("SELECT DISTINCT owner FROM entitled.purchase")
        let entries = try owners.flatMap { owner in
            let found = try #require(
                try CustomerQuery.find(anyID: owner, foldSettings: FoldSettings(), on: connection))
            return try TimelineQuery.timeline(
                of: found.purchases.map(\.key), appUserIDs: found.customer.appUserIDs, patience: StoreProduct.day,
                foldSettings: FoldSettings(), now: now, on: connection
            ).entries
        }
        let events = entries.flatMap(\.events)
        #expect(events.count > 5)
        #expect(events.map(\.id).sorted() == (try installation.database.texts(sent)))
        for event in events {
            #expect(event.trace?.deliveries.map(\.endpoint) == [endpoint])
            #expect(event.trace?.deliveries.map(\.state) == ["delivered"])
        }
        // Every notification about a purchase is a step of one of them.
        let told = try installation.database.texts(
            """
            SELECT uuid FROM entitled.notification
            WHERE original_transaction_id IN (SELECT original_transaction_id FROM entitled.purchase) ORDER BY 1
            """)
        let steps = entries.compactMap { entry in
            if case .notification(let fact) = entry.kind { fact.uuid } else { nil }
        }
        #expect(steps.sorted() == told)
    }

    /// As after a first look into Apple's history, which brings the newest first.
    @Test func `a timeline is in the order of signing, whatever the order of arrival`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 9)
        let hour: Int64 = 3_600_000
        let lived = [
            life.start(at: Installation.start), life.autoRenewOff(at: Installation.start + hour),
            life.autoRenewOn(at: Installation.start + 2 * hour), life.autoRenewOff(at: Installation.start + 3 * hour),
        ]
        for (place, notification) in lived.reversed().enumerated() {
            #expect(try installation.post(notification).status == 200)
            try installation.untilApplied(Int64(place + 1))
        }
        let connection = try installation.database.connect(role: "entitled_api")
        let found = try #require(
            try CustomerQuery.find(anyID: life.latest.originalID, foldSettings: FoldSettings(), on: connection))
        func timeline(_ order: TimelineOrder) throws -> [TimelineEntry] {
            try TimelineQuery.timeline(
                of: found.purchases.map(\.key), appUserIDs: found.customer.appUserIDs, patience: StoreProduct.day,
                foldSettings: FoldSettings(), now: SystemClock().now(), order: order, on: connection
            ).entries.filter { $0.purchase != nil }
        }
        let (happened, heard) = (try timeline(.happened), try timeline(.heard))
        func uuids(_ entries: [TimelineEntry]) -> [String] {
            entries.compactMap { entry in if case .notification(let fact) = entry.kind { fact.uuid } else { nil } }
        }
        #expect(uuids(happened) == lived.map(\.uuid))
        #expect(uuids(heard) == lived.reversed().map(\.uuid))
        let (off, on, old) = ("auto_renew_off", "auto_renew_on", "newer_was_known")
        #expect(happened.map { $0.changes.first?.name } == ["bought", off, on, off])
        #expect(heard.map { $0.changes.first?.name } == ["bought", old, old, old])
        // What was sent is in both, where it was sent.
        let sent = try installation.database.texts("SELECT upper(id::text) FROM entitled.event ORDER BY 1")
        for entries in [happened, heard] {
            #expect(entries.flatMap(\.events).filter { $0.trace != nil }.map(\.id).sorted() == sent)
        }
    }
}
