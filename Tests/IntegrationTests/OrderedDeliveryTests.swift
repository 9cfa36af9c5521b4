import Base
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Workers with consumers that get the events of a purchase one after the other.
@Suite struct OrderedDeliveryTests {
    /// The start of a subscription, and so many changes of it.
    private func notifications(seed: UInt64, changes: Int) -> [StoreNotification] {
        var life = SubscriberLife(app: Installation.app, seed: seed)
        var all = [life.start(at: Installation.start)]
        for number in 0..<changes {
            let instant = Installation.start + Int64(number + 1) * 3_600_000
            all.append(number.isMultiple(of: 2) ? life.autoRenewOff(at: instant) : life.autoRenewOn(at: instant))
        }
        return all
    }

    private func post(_ notifications: [StoreNotification], to installation: Installation) throws {
        for notification in notifications {
            let status = try installation.post(notification).status
            guard status == 200 else { throw TestFailure("answered \(status)") }
        }
    }

    private func numbers(_ requests: [Consumer.Request]) -> [String] {
        requests.map { $0.headers["entitled-sequence"] ?? "-" }
    }

    @Test func `the next event of a purchase waits for the one before it, and other purchases do not`() throws {
        let installation = try Installation()
        let mine = notifications(seed: 60, changes: 3)
        let consumer = try Consumer { _, before in before == 1 ? .hold : .status(200) }
        _ = try installation.addEndpoint(consumer, ordering: .purchase)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        // A consumer that never answered gets one request at a time.
        try post(notifications(seed: 59, changes: 0), to: installation)
        try installation.untilDeliveries(1, .delivered)
        try post(mine, to: installation)
        try installation.untilApplied(5)
        try post(notifications(seed: 61, changes: 2), to: installation)
        let requests = Array(try consumer.wait(5).dropFirst())
        #expect(numbers(requests) == ["1", "1", "2", "3"])
        #expect(Set(requests.dropFirst().map { $0.event?["original_transaction_id"]?.stringValue }).count == 1)
        consumer.release(200)
        #expect(numbers(Array(try consumer.wait(8).dropFirst(5))) == ["2", "3", "4"])
        try installation.untilDeliveries(8, .delivered)
    }

    @Test func `what is given up lets the next one go, and is out of order when it is sent again`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in before == 0 ? .status(500) : .status(200) }
        let (endpoint, _) = try installation.addEndpoint(consumer, ordering: .purchase)
        let worker = try RunningWorker(installation, schedule: [])
        defer { worker.stop(); consumer.stop() }
        try post(notifications(seed: 62, changes: 2), to: installation)
        #expect(numbers(try consumer.wait(3)) == ["1", "2", "3"])
        try installation.untilDeliveries(1, .dead)
        try installation.untilDeliveries(2, .delivered)
        let connection = try installation.database.connect(role: "entitled_worker")
        let dead = try #require(
            try DeliveryQuery.list(.init(endpoint: endpoint, state: .dead), .init(limit: 5), on: connection).rows.first)
        #expect(try DeliveryRepair.resend(dead.id, now: SystemClock().now(), on: connection) == .reopened)
        let last = try #require(try consumer.wait(4).last)
        #expect(last.headers["entitled-sequence"] == "1" && last.attempt == "2")
    }

    @Test func `while a retry of hours is waited for nothing of the purchase goes out`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in before == 0 ? .status(500) : .status(200) }
        _ = try installation.addEndpoint(consumer, ordering: .purchase)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        try post(notifications(seed: 63, changes: 2), to: installation)
        try installation.untilApplied(3)
        let database = installation.database
        try eventually("it failed") { try database.count("SELECT count(*) FROM entitled.attempt") == 1 }
        #expect(try database.count("SELECT count(*) FROM entitled.delivery WHERE state = 4") == 2)
        // The hour is over.
        try database.execute("UPDATE entitled.delivery SET next_ms = 0 WHERE state = 0")
        #expect(numbers(try consumer.wait(4)) == ["1", "1", "2", "3"])
    }

    @Test func `what a worker that lost its lanes still has in flight changes nothing in the order`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        _ = try installation.addEndpoint(consumer, ordering: .purchase)
        let late = try RunningWorker(installation, lease: .seconds(2))
        try post(notifications(seed: 64, changes: 2), to: installation)
        try installation.untilApplied(3)
        _ = try consumer.wait(1)
        late.brake.close()
        try eventually("the worker stands still") { late.brake.isHolding }
        let heir = try RunningWorker(installation, lease: .seconds(2))
        defer { late.stop(); heir.stop(); consumer.stop() }
        #expect(numbers(try consumer.wait(4)) == ["1", "1", "2", "3"])
        try installation.untilDeliveries(3, .delivered)
        consumer.release(500)
        late.brake.open()
        try late.log.wait(for: "lanes lost")
        try installation.untilDeliveries(3, .delivered)
        #expect(consumer.requests.count == 4)
    }

    @Test func `numbers go on behind a rebuild of what was damaged`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let all = notifications(seed: 65, changes: 3)
        try post(Array(all.prefix(2)), to: installation)
        try installation.untilApplied(2)
        try installation.database.execute("DELETE FROM entitled.purchase")
        let totals = try RecordRebuild(
            patience: .seconds(86_400), foldSettings: FoldSettings(defaultGrace: .seconds(259_200)), isDry: false
        ).run(
            on: try installation.database.connect(role: "entitled_worker"), progress: { _ in }, found: { _ in })
        #expect(totals.differences > 0)
        try post(Array(all.dropFirst(2)), to: installation)
        #expect(numbers(try consumer.wait(4)).sorted() == ["1", "2", "3", "4"])
    }
}
