import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// Deliveries of notifications as they came.
@Suite struct NotificationDeliveryRetentionTests {
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])

    @Test func `they go once their notification is gone, and not while somebody could apply it again`() throws {
        let bench = try RetentionFixture()
        _ = try EndpointTable.add(
            url: "https://example.com", authorization: nil, environments: [], events: [], apps: [], format: .raw,
            sealer: sealer, now: bench.now - 600 * RetentionFixture.day, on: bench.connection)
        for (number, daysAgo) in [(1, 500), (2, 500), (3, 399)] as [(Int, Int64)] {
            try bench.receive(number, daysAgo: daysAgo)
            let pending = try bench.pending()
            #expect(pending.map(\.isForwarded) == [true])
            let made = try bench.connection.transaction {
                try NotificationDeliveryTable.insert(pending, now: bench.now, on: bench.connection)
            }
            #expect(made == 1)
            try bench.owner.query("DELETE FROM entitled.pending")
            _ = try DayPartitions.notifications.make(bench.today(daysAgo), on: bench.connection)
        }
        func left() throws -> [String] {
            try bench.database.texts("SELECT webhook_id FROM entitled.delivery ORDER BY 1")
        }
        // One is still to be sent.
        try bench.owner.query(
            "UPDATE entitled.delivery SET state = 1 WHERE webhook_id <> $1", [.text(RetentionFixture.uuid(2))])
        try bench.runRetention()
        #expect(try left() == [RetentionFixture.uuid(2), RetentionFixture.uuid(3)])
        #expect(try bench.list() == [RetentionFixture.uuid(3)])
        #expect(bench.metrics.exposition().contains("retention_rows_cleaned_total{table=\"delivery\"} 1\n"))
    }
}
