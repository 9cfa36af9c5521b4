import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct PendingNotificationTests {
    private func fill(_ database: TestDatabase, _ purchases: [String]) throws {
        var inserter = Sample.inserter()
        let connection = try database.connect(role: "entitled_ingest")
        for (number, purchase) in purchases.enumerated() {
            let payload = Array("{\"number\":\(number)}".utf8)
            let outcome = try inserter.insert(
                [try Sample.notification(Sample.uuid(number), purchase: purchase, payload: payload)], on: connection)
            #expect(outcome == [.accepted])
        }
    }

    @Test func `what waits comes back as it was stored, oldest first`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try fill(database, ["a", "a", "a"])
        let pending = try PendingNotification.read(
            from: Lane.all, eachAtMost: 10, atMost: 10, on: try database.connect(role: "entitled_worker"))
        #expect(pending.map(\.identity.uuid) == (0..<3).map(Sample.uuid))
        for (number, notification) in pending.enumerated() {
            let payload = try HeaderDictionaries().restore(notification.stored, header: notification.header)
            #expect(payload == Array("{\"number\":\(number)}".utf8))
            #expect(notification.stored.signature == Sample.signature)
            #expect(notification.header == Sample.header)
        }
    }

    @Test func `a lane's backlog does not hide another lane`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try fill(database, Array(repeating: "a", count: 30) + ["b"])
        let lanes = ["a", "b"].map { Lane(app: "demo", environment: .production, subject: $0) }
        #expect(lanes[0] != lanes[1])
        let connection = try database.connect(role: "entitled_worker")
        let pending = try PendingNotification.read(from: lanes, eachAtMost: 5, atMost: 100, on: connection)
        #expect(pending.filter { $0.lane == lanes[0] }.count == 5)
        #expect(pending.filter { $0.lane == lanes[1] }.count == 1)
        #expect(try PendingNotification.read(from: [lanes[1]], eachAtMost: 5, atMost: 100, on: connection).count == 1)
        #expect(try PendingNotification.read(from: lanes, eachAtMost: 5, atMost: 3, on: connection).count == 3)
    }

    @Test func `what is held leaves the line and says why`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try fill(database, ["a", "b", "c"])
        let connection = try database.connect(role: "entitled_worker")
        let pending = try PendingNotification.read(from: Lane.all, eachAtMost: 10, atMost: 10, on: connection)
        let first = try #require(pending.first)
        try connection.transaction {
            try HeldNotifications.hold([(first, "forged")], now: 1, on: connection)
            try PendingNotification.remove(Array(pending.prefix(2)), on: connection)
        }
        func uuids(_ state: NotificationState?) throws -> [String] {
            try NotificationQuery.list(.init(state: state), .init(limit: 10), on: connection).rows
                .map(\.identity.uuid)
        }
        #expect(try uuids(.held) == [Sample.uuid(0)])
        #expect(try uuids(.applied) == [Sample.uuid(1)])
        #expect(try uuids(.pending) == [Sample.uuid(2)])
        #expect(try uuids(nil).count == 3)
        let whole = try NotificationQuery.find(
            uuid: Sample.uuid(0), app: nil, environment: nil, on: connection
        ).whole
        #expect(whole.first?.summary.hold?.reason == "forged")
        #expect(whole.first?.payload == Array("{\"number\":0}".utf8))
    }

    @Test func `what was held or applied can be put back in its line`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try fill(database, ["a", "b"])
        let connection = try database.connect(role: "entitled_worker")
        let pending = try PendingNotification.read(from: Lane.all, eachAtMost: 10, atMost: 10, on: connection)
        let first = try #require(pending.first)
        try connection.transaction {
            try HeldNotifications.hold([(first, "forged")], now: 1, on: connection)
            try PendingNotification.remove(pending, on: connection)
        }
        for number in [0, 1, 1] {
            let outcome = try NotificationRepair.reprocess(
                uuid: Sample.uuid(number), app: nil, environment: nil, on: connection)
            #expect(outcome == .queued)
        }
        let again = try PendingNotification.read(from: Lane.all, eachAtMost: 10, atMost: 10, on: connection)
        #expect(again.map(\.seq) == pending.map(\.seq))
        #expect(try database.count("SELECT count(*) FROM entitled.held_notification") == 0)
        let unknown = try NotificationRepair.reprocess(
            uuid: Sample.uuid(9), app: nil, environment: nil, on: connection)
        #expect(unknown == .notFound)
        let elsewhere = try NotificationRepair.reprocess(
            uuid: Sample.uuid(0), app: "other", environment: nil, on: connection)
        #expect(elsewhere == .notFound)
    }
}
