import Base
import Database
import Postgres
import TestSupport

/// Notifications without cryptography, for tests of their storage.
enum Sample {
    static let header = Array("eyJhbGciOiJFUzI1NiIsIng1YyI6WyJBQUFBIiwiQkJCQiIsIkNDQ0MiXX0".utf8)
    static let signature = [UInt8](repeating: 7, count: 64)

    static func notification(
        _ uuid: String, app: String = "demo", environment: StoreEnvironment = .production, purchase: String? = nil,
        payload: [UInt8] = Array(#"{"notificationType":"TEST"}"#.utf8)
    ) throws -> NewNotification {
        let id = StoredJWS.headerID(header)
        let packed = try HeaderDictionaries().compress(payload, header: header, id: id)
        return NewNotification(
            identity: NotificationIdentity(app: app, environment: environment, uuid: uuid), type: "TEST", subtype: nil,
            originalTransactionID: purchase, signedDate: 1, source: .store, header: header,
            stored: StoredJWS(headerID: id, payload: packed, signature: signature))
    }

    /// A UUID with this number in it.
    static func uuid(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }

    static func inserter(node: UInt16 = 1) -> NotificationInserter {
        NotificationInserter(sequence: SequenceGenerator(clock: SystemClock(), node: node), clock: SystemClock())
    }
}

/// A worker of lanes for one test, with a connection of its own.
final class TestWorker {
    var leases: LaneLeases
    let connection: PostgresConnection

    init(_ number: UInt8, in database: TestDatabase, lease: Duration = .seconds(10)) throws {
        leases = LaneLeases(worker: [UInt8](repeating: number, count: 16), host: "test", duration: lease)
        connection = try database.connect(role: "entitled_worker")
    }

    var count: Int { leases.owned.count }

    @discardableResult
    func maintain() throws -> LaneLeases.Change {
        try leases.maintain(on: connection)
    }
}
