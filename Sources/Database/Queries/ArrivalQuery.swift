import Base
import Postgres
import Subscriptions

/// Reads what came about purchases in the order in which it came, for operators.
package enum ArrivalQuery {
    private static let select = """
        SELECT t.place, f.seq, f.kind, f.signed_ms, f.payload, f.source, array_to_string(f.signed_again, ' ') AS again
        FROM \(PurchaseKeys.unnest("place int4"))
        JOIN entitled.fact f ON \(PurchaseKeys.equal("f"))
        ORDER BY t.place, f.seq, f.kind, f.signed_ms, f.digest
        """

    /// The arrivals of these purchases, in their order. What came again is with its first arrival.
    package static func arrivals(
        of keys: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [[PurchaseArrival]] {
        try origins(of: keys, on: connection).map { $0.map(\.arrival) }
    }

    /// The same, each with how it came.
    package static func origins(
        of keys: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [[(origin: NotificationOrigin, arrival: PurchaseArrival)]] {
        var arrivals = [[(origin: NotificationOrigin, arrival: PurchaseArrival)]](repeating: [], count: keys.count)
        guard !keys.isEmpty else { return arrivals }
        let rows = try connection.query(select, PurchaseKeys(keys).placed)
        var (last, facts) = (Origin(place: 0, seq: .min, source: .store), PurchaseFacts())
        func close() {
            guard arrivals.indices.contains(last.place), facts != PurchaseFacts() else { return }
            arrivals[last.place].append(
                (NotificationOrigin(seq: last.seq, source: last.source), last.arrival(of: facts)))
        }
        for row in rows {
            guard let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int("kind"))) else { continue }
            let origin = Origin(
                place: Int(try row.int("place")), seq: try row.int("seq"),
                source: NotificationSource(code: try row.int("source")))
            if origin != last {
                close()
                (last, facts) = (origin, PurchaseFacts())
            }
            let fact = FactRow(
                kind: kind, signedDate: try row.int("signed_ms"), header: nil, signature: nil,
                payload: try FactCodec.restore(try row.bytes("payload")),
                again: try FactRow.dates(row.optionalText("again")))
            fact.insert(into: &facts)
        }
        close()
        return arrivals
    }

    /// Which purchase, and which entry of the log.
    private struct Origin: Equatable {
        let place: Int
        let seq: Int64
        let source: NotificationSource

        func arrival(of facts: PurchaseFacts) -> PurchaseArrival {
            let cause =
                facts.notifications.first.map(Cause.notification) ?? facts.actions.max().map { .action($0) }
                ?? (facts.isOnlySaid ? .action(0) : .observation(id: String(seq)))
            return PurchaseArrival(
                arrived: SequenceGenerator.instant(of: seq), isFetched: source != .store, facts: facts, cause: cause)
        }
    }
}

extension PurchaseFacts {
    /// Whether it is only what an app said of a purchase, which tells nothing by itself.
    fileprivate var isOnlySaid: Bool {
        transactions.isEmpty && renewals.isEmpty && !(contexts.isEmpty && posts.isEmpty)
    }
    /// The numbers of the actions that they are of.
    fileprivate var actions: [Int64] { assignments.map(\.action) + transactions.compactMap(\.grant?.action) }
}
