import Base
import Daemon
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Database
@testable import Duties
@testable import StoreSimulator

/// What Apple sent and we missed comes back.
@Suite struct ReconcileTests {
    private static let hour: Int64 = 3_600_000
    private static let day = StoreProduct.day

    /// Lives of four notifications each.
    private static func lives(_ count: UInt64, seed: UInt64 = 90) -> [StoreNotification] {
        (0..<count).flatMap { number -> [StoreNotification] in
            var life = SubscriberLife(
                app: Installation.app, seed: seed, number: number, withToken: !number.isMultiple(of: 3))
            let began = Installation.start + Int64(number) * hour / 4
            return [
                life.start(at: began), life.autoRenewOff(at: began + day), life.autoRenewOn(at: began + 2 * day),
                life.extend(days: 7, at: began + 3 * day),
            ]
        }
    }

    @Test func `what was lost in an outage comes back, though Apple's API fails now and then`() throws {
        let notifications = Self.lives(60)
        let calm = try Installation()
        let calmWorker = try RunningWorker(calm)
        try calm.postAll(notifications)
        try calm.untilApplied(Int64(notifications.count))
        calmWorker.stop()

        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let arrived = notifications.enumerated().filter { $0.offset % 10 < 7 }.map(\.element)
        try installation.postAll(arrived)
        let history = try PlayedHistory(
            installation, notifications,
            faults: [
                StoreFault(.rateLimited, percent: 10, seconds: 0.05), StoreFault(.error, percent: 15),
                StoreFault(.badGateway, percent: 10), StoreFault(.reset, percent: 5),
            ])
        try history.reconciling(as: worker.id) {
            try installation.untilApplied(Int64(notifications.count), timeout: .seconds(60))
            try eventually("it is looked through") { try history.isCovered() }
        }
        #expect(try installation.purchaseRows() == calm.purchaseRows())
        try installation.expectNoDifferences()
        #expect(try installation.heldReasons() == [])
        let fetched = try installation.database.count("SELECT count(*) FROM entitled.notification WHERE source = 1")
        #expect(fetched == Int64(notifications.count - arrived.count))
        #expect(history.calls.filter { $0 == 200 }.count >= 12)
        #expect(history.calls.contains { $0 != 200 })
        #expect(history.log.text.contains("first Apple history scan completed"))
    }

    @Test func `a gap that is found later is an alarm that says when and how many`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let notifications = Self.lives(2)
        let history = try PlayedHistory(installation, notifications)
        try history.reconciling(as: worker.id) {
            try eventually("it is looked through") { try history.isCovered() }
            #expect(!history.log.text.contains("missed notifications found"))
        }
        // As after a database was restored that lost a few.
        try installation.untilApplied(8)
        try installation.database.execute(
            """
            DELETE FROM entitled.notification_key WHERE seq IN (SELECT seq FROM entitled.notification_key ORDER BY seq
                LIMIT 3)
            """)
        let old = SystemClock().now() - 20 * Self.day
        try installation.database.execute(
            "UPDATE entitled.history_look SET covered_ms = $1, whole_ms = $1", [.int8(old)])
        try history.reconciling(as: worker.id) { try history.log.wait(for: "missed notifications found") }
        let line = history.log.text.split(separator: "\n").last { $0.contains("missed notifications found") }
        let told = try JSON(parsing: Array((line ?? "").utf8))
        #expect(told["level"]?.stringValue == "warning")
        #expect(told["missed"]?.intValue == 3)
        #expect(told["found"]?.intValue == 8)
        #expect(told["first_signed"]?.stringValue == Timestamp.text(Installation.start))
        #expect(
            history.metrics.exposition().contains(
                #"entitled_reconcile_missed_total{app="demo",environment="Production"} 3"#))
        try eventually("everything is applied") {
            try installation.database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        try installation.expectNoDifferences()
    }

    @Test func `only the owner of the first lane looks, and who has lost it writes nothing`() throws {
        let installation = try Installation()
        let owner = try RunningWorker(installation)
        defer { owner.stop() }
        try owner.log.wait(for: "lanes gained")
        let other = [UInt8](repeating: 7, count: 16)
        let history = try PlayedHistory(installation, Self.lives(1))
        try history.reconciling(as: other) {
            try eventually("it told how long ago somebody looked") {
                history.metrics.exposition().contains("entitled_reconcile_age_seconds{")
            }
        }
        #expect(history.calls == [])
        let connection = try installation.database.connect(role: "entitled_worker")
        let fence = Leadership(worker: other, lease: .seconds(10))
        #expect(throws: Leadership.Lost.self) {
            try fence.transaction(on: connection) { _ in
                try HistoryScanState().write(history.place, on: connection)
            }
        }
        #expect(try installation.database.count("SELECT count(*) FROM entitled.history_look") == 0)
        let ours = Leadership(worker: owner.id, lease: .seconds(10))
        try ours.transaction(on: connection) { _ in try HistoryScanState().write(history.place, on: connection) }
        #expect(try installation.database.count("SELECT count(*) FROM entitled.history_look") == 1)
    }

    @Test func `a key that Apple refuses is told once, and the worker works on`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let notifications = Self.lives(1)
        let history = try PlayedHistory(installation, notifications, faults: [StoreFault(.unauthorized)])
        try history.reconciling(as: worker.id) {
            try history.log.wait(for: "Apple history scan failed")
            try installation.postAll(notifications)
            try installation.untilApplied(4)
        }
        // Another process begins again at once, and this one says that it works now.
        let connection = try installation.database.connect()
        let row = try connection.query("SELECT error, tried_ms, covered_ms FROM entitled.history_look").one()
        #expect(try row.text(0).contains("Apple rejected the key"))
        #expect(try !row.isNull(1))
        #expect(try row.isNull(2))
        #expect(history.log.text.components(separatedBy: "Apple history scan failed").count == 2)
        history.clearFaults()
        try history.reconciling(as: worker.id) {
            try eventually("it is looked through") { try history.isCovered() }
        }
        #expect(
            try connection.query("SELECT error FROM entitled.history_look").one().isNull(0))
    }

    @Test func `what is found a week late is for the record, unless somebody wants it to be sent`() throws {
        let now = SystemClock().now()
        var running = SubscriberLife(app: Installation.app, seed: 91, number: 1)
        var over = SubscriberLife(app: Installation.app, seed: 91, number: 2)
        var silent = SubscriberLife(app: Installation.app, seed: 91, number: 3)
        let notifications = [
            running.start(lasts: 40 * Self.day, at: now - 20 * Self.day), running.autoRenewOff(at: now - Self.day),
            over.start(lasts: 5 * Self.day, at: now - 20 * Self.day), over.expire(at: now - 15 * Self.day),
            // It should have renewed, and nothing was heard of it.
            silent.start(lasts: 5 * Self.day, at: now - 20 * Self.day),
        ]
        let all = [
            "CANCELLATION", "EXPIRATION", "EXPIRATION", "INITIAL_PURCHASE", "INITIAL_PURCHASE", "INITIAL_PURCHASE",
        ]
        for sendsEvents in [false, true] {
            let installation = try Installation()
            let consumer = try Consumer()
            defer { consumer.stop() }
            _ = try installation.addEndpoint(consumer)
            let history = try PlayedHistory(installation, notifications)
            let job = try history.replay(sendsEvents: sendsEvents)
            #expect((job.state, job.counts.matched, job.counts.queued) == (.done, 5, 5))
            let worker = try RunningWorker(installation)
            defer { worker.stop() }
            try installation.untilApplied(5)
            try eventually("all events are there") {
                try installation.database.texts("SELECT type FROM entitled.event ORDER BY 1") == all
            }
            try installation.untilDeliveries(sendsEvents ? 6 : 1, .delivered)
            let sent = try installation.database.texts("SELECT event_type FROM entitled.delivery ORDER BY 1")
            #expect(sent == (sendsEvents ? all : ["CANCELLATION"]))
            try installation.expectNoDifferences()
        }
    }

    @Test func `what Apple sent is told however late it is applied`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try installation.addEndpoint(consumer)
        var life = SubscriberLife(app: Installation.app, seed: 92, number: 1)
        let now = SystemClock().now()
        try installation.postAll([
            life.start(lasts: 5 * Self.day, at: now - 20 * Self.day), life.expire(at: now - 15 * Self.day),
        ])
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.untilDeliveries(2, .delivered)
    }

    @Test func `a place that Apple does not know any more costs reading a window again, in parts`() throws {
        let installation = try Installation()
        let history = try PlayedHistory(installation, Self.lives(12))
        let job = try history.replay(after: "of_another_time")
        #expect((job.state, job.counts.queued) == (.done, 48))
        // Refused once, then eight parts of a window of 25 days.
        #expect(history.calls.filter { $0 == 400 }.count == 1)
        #expect(history.calls.count >= 9)
    }

    @Test func `a replay of an app that cannot be asked fails with the reason`() throws {
        let installation = try Installation()
        let history = try PlayedHistory(installation, Self.lives(1), faults: [StoreFault(.notFound, times: 1)])
        let job = try history.replay()
        #expect(job.state == .failed)
        #expect(job.error?.contains("4040010") == true)
        // Asked for again, it goes on.
        let again = try history.replay()
        #expect(again.id == job.id)
        #expect((again.state, again.counts.queued) == (.done, 4))
    }

    @Test func `a replay takes what is not known, once`() throws {
        let installation = try Installation()
        let notifications = Self.lives(12)
        try installation.postAll(Array(notifications.prefix(20)))
        let history = try PlayedHistory(installation, notifications)
        let first = try history.replay()
        #expect((first.counts.matched, first.counts.queued, first.counts.skipped) == (48, 28, 0))
        let second = try history.replay()
        #expect((second.counts.matched, second.counts.queued) == (48, 0))
        #expect(second.id != first.id)
        #expect(history.calls.count == 6)
    }
}
