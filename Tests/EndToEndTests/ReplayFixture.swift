import Base
import Crypto
import Database
import Postgres
import StoreSimulator
import TestSupport

/// An installation with a worker, and events that no endpoint has had.
final class ReplayFixture: Sendable {
    let site: Site
    let database: TestDatabase

    init(events count: Int) throws {
        database = try TestCluster.shared.makeDatabase()
        site = try Site(database)
        try site.run("migrate")
        let connection = try database.connect(role: "entitled_worker")
        let now = SystemClock().now() - 60_000
        let events = (0..<count).map { number in
            let id = ReplayFixture.id(number)
            let body = #"{"event":{"type":"RENEWAL","id":"\#(UUIDText.upper(id))"},"api_version":"1.0"}"#
            return NewEvent(
                lane: Lane(number: Int16(number % 256)), id: id, type: "RENEWAL", app: "demo",
                environment: .production, originalTransactionID: "2000\(number)", body: Array(body.utf8))
        }
        try connection.transaction { _ = try EventTable.insert(events, now: now, on: connection) }
    }

    private static func id(_ number: Int) -> [UInt8] {
        Array(Digest.sha256(Array("event \(number)".utf8)).prefix(16))
    }

    static func ids(_ count: Int) -> Set<String> { Set((0..<count).map { UUIDText.upper(id($0)) }) }

    func addEndpoint(_ consumer: Consumer) throws -> String { try site.addEndpoint(consumer).id }

    func job(_ id: Int64 = 1) throws -> JSON? { try site.run("replay", "show", String(id), "--json").document }

    func untilDone(_ id: Int64 = 1, timeout: Duration = .seconds(40)) throws {
        try eventually(timeout: timeout, "the replay is done") {
            try database.count("SELECT count(*) FROM entitled.job WHERE id = $1 AND state = 'done'", [.int8(id)]) == 1
        }
    }

    func untilDelivered(_ count: Int64) throws {
        try eventually("\(count) deliveries have arrived") {
            try database.count("SELECT count(*) FROM entitled.delivery WHERE state = 1") == count
        }
    }
}
