import Base
import Crypto
import Postgres
import Subscriptions

/// Purchases that went from one customer to another: an entry of the log, and the TRANSFER that says so.
package struct PurchaseTransfer: Sendable {
    package let purchases: [PurchaseKey]
    /// App user ids.
    package let from: String
    package let to: String
    package let kind: ActionTable.Kind
    package let origin: ActionTable.Origin
    /// Whether it is about all that the customer had, heard of or not.
    package var isWhole = false

    package init(
        purchases: [PurchaseKey], from: String, to: String, kind: ActionTable.Kind, origin: ActionTable.Origin,
        isWhole: Bool = false
    ) {
        self.purchases = purchases
        self.from = from
        self.to = to
        self.kind = kind
        self.origin = origin
        self.isWhole = isWhole
    }

    /// Writes it into the log. Its number names the events.
    package func log(now: Int64, on connection: PostgresConnection) throws -> Int64 {
        let names = JSON.array(
            purchases.map {
                .object([
                    "app": .string($0.app), "environment": .string($0.environment.rawValue),
                    "original_transaction_id": .string($0.originalTransactionID),
                ])
            })
        return try ActionTable.add(
            ActionTable.New(
                kind, from, other: to, detail: .object(["purchases": names, "all": isWhole ? .bool(true) : nil])),
            by: origin, now: now, on: connection)
    }

    /// Writes it into the log, and tells consumers. The ids of the events.
    func tell(
        _ customers: [String: Customer], now: Int64, on connection: PostgresConnection
    ) throws -> [String] {
        try tell(customers, action: try log(now: now, on: connection), now: now, on: connection)
    }

    /// Tells consumers of it, once for each app and environment.
    ///
    /// - Parameter action: its number in the log.
    package func tell(
        _ customers: [String: Customer], action: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> [String] {
        let (former, latter) = (customers[from]?.appUserIDs ?? [], customers[to]?.appUserIDs ?? [])
        let attributes = customers[to]?.attributes ?? CustomerAttributes()
        var places: Set<[String]> = []
        var events: [NewEvent] = []
        for key in purchases where places.insert([key.app, key.environment.rawValue]).inserted {
            let event = TransferEvent(
                app: key.app, environment: key.environment, from: former, to: latter, action: action, at: now)
            let id = event.id
            events.append(
                NewEvent(
                    lane: key.lane, id: UUIDText.bytes(id) ?? [], type: EventType.transfer.rawValue, app: key.app,
                    environment: key.environment, originalTransactionID: nil,
                    body: event.json(id: id, attributes: attributes.json).bytes))
        }
        _ = try EventTable.insert(events, now: now, on: connection)
        return events.map { UUIDText.upper($0.id) }
    }
}
