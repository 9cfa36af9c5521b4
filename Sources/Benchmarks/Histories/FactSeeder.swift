import Base
import Daemon
import Database
import Postgres
import StoreSimulator
import Subscriptions

/// Writes the facts of many purchases into a database, as workers would have left them.
struct FactSeeder: Sendable {
    /// What all of them are signed with; nil: they are not signed.
    let signer: NotificationSigner?
    /// Whether the records are written, too, each for a customer of its own whom its token names; `entitled rebuild` makes
    /// them of any facts, but not many in a second.
    var makesRecords = false

    private static let chunk = 3000
    private static let threads = 2

    /// - Parameter lives: what was said of purchase 0 and on; asked by several threads.
    /// - Returns: the facts that were written.
    @discardableResult
    func add(
        _ numbers: Range<Int>, to installation: Installation,
        lives: @escaping @Sendable (Int) -> [StoreNotification]
    ) throws -> Int {
        let written = Monitor(0)
        let failure = Monitor<(any Error)?>(nil)
        let target = installation.target
        let threads = (0..<FactSeeder.threads).map { place in
            ServiceThread("seed-\(place)") {
                do {
                    let own = stride(
                        from: numbers.lowerBound + place, to: numbers.upperBound, by: FactSeeder.threads)
                    let count = try add(own, on: PostgresConnection(target), lives: lives)
                    written.change { $0 += count }
                } catch {
                    failure.change { $0 = error }
                }
            }
        }
        for thread in threads { thread.join() }
        if let error = failure.read({ $0 }) { throw error }
        return written.read { $0 }
    }

    private func add(
        _ numbers: some Sequence<Int>, on connection: PostgresConnection,
        lives: (Int) -> [StoreNotification]
    ) throws -> Int {
        let maker = FactsOfNotification(signer: signer)
        var known: Set<[UInt8]> = []
        var chunk: [FactTable.New] = []
        var written = 0
        func write() throws {
            try connection.transaction {
                try FactTable.insert(chunk, known: known, on: connection)
                if makesRecords { try SeededRecords.add(chunk, on: connection) }
            }
            known.formUnion(chunk.prefix(1).compactMap { $0.fact.header.map(StoredJWS.headerID) })
            written += chunk.count
            chunk.removeAll(keepingCapacity: true)
        }
        for number in numbers {
            for notification in lives(number) {
                guard let id = notification.transaction?["originalTransactionId"]?.stringValue else { continue }
                let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: id)
                // It came when it was signed.
                let seq = SequenceGenerator.least(at: notification.signedDate)
                chunk += try maker.facts(of: notification).map { FactTable.New(key: key, seq: seq, fact: $0) }
            }
            if chunk.count >= FactSeeder.chunk { try write() }
        }
        if !chunk.isEmpty { try write() }
        return written
    }
}
