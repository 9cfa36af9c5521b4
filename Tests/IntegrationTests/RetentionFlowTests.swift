import Base
import Daemon
import Database
import Duties
import Postgres
import StoreSimulator
import TestSupport
import Testing

@Suite struct RetentionFlowTests {
    private static let long: Int64 = 500 * StoreProduct.day

    /// Everything that happened is so long ago; then what is old goes.
    private func age(_ installation: Installation) throws {
        let connection = try installation.database.connect()
        try connection.query("UPDATE entitled.event SET created_ms = created_ms - $1", [.int8(Self.long)])
        try connection.query(
            "UPDATE entitled.delivery SET created_ms = created_ms - $1, next_ms = next_ms - $1", [.int8(Self.long)])
        try connection.query("UPDATE entitled.notification_key SET seq = seq - ($1::int8 << 22)", [.int8(Self.long)])
        let worker = [UInt8](repeating: 5, count: 16)
        try connection.query(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(worker)])
        let time = Duration.seconds(400 * 86_400)
        var round = RetentionRun(
            times: RetentionTimes(notifications: time, attempts: time, events: time),
            clock: SystemClock(), logger: installation.log.logger, metrics: Metrics())
        let session = try installation.database.connect(role: "entitled_worker")
        while try round.take(Leadership(worker: worker, lease: .seconds(10)), on: session) {}
        try connection.query("UPDATE entitled.lane SET lease_until = '-infinity'")
    }

    @Test func `what was told is not told again when all trace of it went and everything comes once more`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try installation.addEndpoint(consumer)
        var life = SubscriberLife(app: Installation.app, seed: 77)
        let notifications = [
            life.start(at: Installation.start), life.autoRenewOff(at: Installation.start + 3_600_000),
            life.autoRenewOn(at: Installation.start + StoreProduct.day),
            life.refund(at: Installation.start + 2 * StoreProduct.day),
        ]
        let first = try RunningWorker(installation)
        try installation.postAll(notifications)
        try installation.untilApplied(Int64(notifications.count))
        try eventually("all is delivered") {
            try installation.database.count("SELECT count(*) FROM entitled.delivery WHERE state <> 1") == 0
        }
        first.stop()
        let told = consumer.requests.count
        #expect(told >= 2)
        let records = try installation.purchaseRows()

        try age(installation)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.delivery") == 0)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event WHERE body <> ''") == 0)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") == Int64(told))
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification_key") == 0)

        // Copies are taken as new, being so late, and each is applied twice.
        try installation.postAll(notifications)
        let second = try RunningWorker(installation)
        defer { second.stop() }
        try installation.untilApplied(Int64(2 * notifications.count))
        let connection = try installation.database.connect(role: "entitled_worker")
        for uuid in try installation.database.texts("SELECT DISTINCT uuid FROM entitled.notification") {
            let outcome = try NotificationRepair.reprocess(uuid: uuid, app: nil, environment: nil, on: connection)
            #expect(outcome == .queued)
        }
        try installation.untilApplied(Int64(2 * notifications.count))
        #expect(try installation.database.count("SELECT count(*) FROM entitled.delivery") == 0)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") == Int64(told))
        #expect(consumer.requests.count == told)
        #expect(try installation.purchaseRows() == records)
        #expect(try installation.heldReasons() == [])
    }

    @Test func `records are rebuilt without the notifications that they came from`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 78)
        try installation.postAll([
            life.start(at: Installation.start), life.autoRenewOff(at: Installation.start + 3_600_000),
        ])
        try installation.untilApplied(2)
        worker.stop()
        try installation.database.execute("DELETE FROM entitled.notification")
        try installation.database.execute("DELETE FROM entitled.notification_key")
        try installation.expectNoDifferences()
    }
}
