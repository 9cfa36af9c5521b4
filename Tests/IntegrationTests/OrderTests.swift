import Base
import HTTP
import StoreSimulator
import TestSupport
import Testing

@Suite struct OrderTests {
    /// Any order, with any repetitions: what is known in the end is the same.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `the same notifications in any order, with repetitions, end in the same records`(seed: UInt64) throws {
        let now = SystemClock().now()
        let app = StoreApp(environment: "Production")
        let scenario = seed == 1 ? Scenario.everyKind : .year
        let notifications = (UInt64(0)..<(seed == 1 ? 1 : 6)).flatMap { number in
            scenario.notifications(app: app, seed: seed, number: number, until: now)
        }
        #expect(notifications.count > 20)
        var random = SeededRandom(seed: seed, stream: 77)
        var orders = [notifications, notifications.reversed()]
        orders.append((notifications + notifications.prefix(20)).shuffled(using: &random))
        let results = try orders.map { try outcome(of: $0, now: now) }
        #expect(results[0].documents.count > 1)
        #expect(results[0].rows.count > 1)
        for result in results.dropFirst() {
            #expect(result.rows == results[0].rows)
            #expect(result.documents == results[0].documents)
        }
    }

    /// What is known after these came in this order, while a worker applied what was there.
    private func outcome(
        of notifications: [StoreNotification], now: Int64
    ) throws -> (rows: [String], documents: [String: String]) {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        for notification in notifications {
            #expect(try installation.post(notification).status == 200)
        }
        let uuids = Set(notifications.map(\.uuid))
        try installation.untilApplied(Int64(uuids.count))
        #expect(try installation.heldReasons() == [])
        let ids = try installation.database.texts("SELECT id FROM entitled.app_user_id ORDER BY 1")
        var documents: [String: String] = [:]
        for id in ids { documents[id] = try installation.document(of: id, now: now) }
        return (try installation.purchaseRows(), documents)
    }
}
