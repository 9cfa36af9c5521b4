import Base
import Database
import Postgres
import Subscriptions

/// Events, what was sent of them and what was answered, without a person.
struct EventRedactor {
    /// The number of the deletion.
    let deletion: Int64

    struct Name: Hashable {
        let lane: Lane
        let id: [UInt8]
    }

    // MARK: - Finding

    /// What consumers were told of these actions.
    static func transfers(of entries: [ActionTable.Entry]) -> [Name] {
        entries.flatMap { entry in
            entry.transfers.map { key in
                let id = entry.event(about: key).id
                return Name(lane: key.lane, id: UUIDText.bytes(id) ?? [])
            }
        }
    }

    /// By the hash, which two indexes have between them.
    private static let ofPurchase = """
        SELECT id FROM entitled.event WHERE hashtext(original_transaction_id) = hashtext($2)
            AND (sequence IS NOT NULL OR sequence IS NULL AND original_transaction_id IS NOT NULL)
            AND lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
        ORDER BY coalesce(sequence, 0), created_ms, id
        """

    static func events(of key: PurchaseKey, on connection: PostgresConnection) throws -> [Name] {
        try connection.query(
            ofPurchase,
            [
                .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app),
                .int2(key.environment.code),
            ]
        ).map { Name(lane: key.lane, id: try $0.uuid("id")) }
    }

    private static let selectCopies = """
        SELECT c.lane, c.id FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.event_copy c ON c.lane = t.lane /* cluster: AND c.lane = ANY($1::int2[]) */ AND c.original = t.id
        """

    /// These with what was sent of them under other ids.
    static func withCopies(_ events: [Name], on connection: PostgresConnection) throws -> [Name] {
        try events
            + connection.query(selectCopies, places(events)).map {
                Name(lane: try $0.value("lane"), id: try $0.uuid("id"))
            }
    }

    private static let selectDeliveries = """
        SELECT d.lane, d.id, d.state FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        """

    /// Their deliveries, by primary keys, which follow from event and endpoint: there is no index by event.
    static func deliveries(
        of events: [Name], on connection: PostgresConnection
    ) throws -> [(id: DeliveryID, state: DeliveryCode)] {
        let endpoints = try connection.query("SELECT id FROM entitled.endpoint").map { try $0.text("id") }
        return try existing(
            events.flatMap { event in
                endpoints.map { DeliveryID(lane: event.lane, event: event.id, endpoint: $0) }
            }, on: connection)
    }

    static func existing(
        _ ids: [DeliveryID], on connection: PostgresConnection
    ) throws -> [(id: DeliveryID, state: DeliveryCode)] {
        guard !ids.isEmpty else { return [] }
        return try connection.query(selectDeliveries, places(ids)).map { row in
            let lane: Lane = try row.value("lane")
            return (id: DeliveryID(lane: lane, bytes: try row.uuid("id")), state: try row.value("state"))
        }
    }

    /// Those of these that are no longer there.
    static func gone(_ ids: [DeliveryID], on connection: PostgresConnection) throws -> [DeliveryID] {
        let there = Set(try existing(ids, on: connection).map(\.id))
        return ids.filter { !there.contains($0) }
    }

    // MARK: - Pseudonyms

    private static let selectBodies = """
        SELECT e.lane, e.id, e.body FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.event e ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */
            AND e.id = t.id WHERE octet_length(e.body) > 0
        """
    private static let updateBodies = """
        UPDATE entitled.event e SET body = t.body FROM unnest($1::int2[], $2::uuid[], $3::bytea[]) AS t(lane, id, body)
        WHERE e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id
        """

    /// Rewrites bodies, and empties what consumers answered, which may repeat them. Their lanes are held. What is not sent
    /// yet is sent with the pseudonyms.
    func pseudonymise(
        _ given: [Name], _ names: Pseudonyms, on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        guard !given.isEmpty else { return [:] }
        let events = try EventRedactor.withCopies(given, on: connection)
        var changed: [(name: Name, body: [UInt8])] = []
        for row in try connection.query(EventRedactor.selectBodies, EventRedactor.places(events)) {
            let stored = try row.bytes("body")
            guard let body = try EventRedaction.body(try EventBodyCodec.restore(stored), names) else { continue }
            let name = Name(lane: try row.value("lane"), id: try row.uuid("id"))
            changed.append((name, try EventBodyCodec.compress(body, cause: EventBodyCodec.cause(of: stored))))
        }
        if !changed.isEmpty {
            _ = try connection.query(
                EventRedactor.updateBodies, EventRedactor.places(changed.map(\.name)) + [.byteas(changed.map(\.body))])
        }
        let deliveries = try EventRedactor.deliveries(of: events, on: connection)
        try remember(deliveries, on: connection)
        return [
            "event": Int64(changed.count),
            "attempt": try EventRedactor.emptyAttempts(deliveries.map(\.id), on: connection),
        ]
    }

    private static let keep = """
        INSERT INTO entitled.deletion_delivery (deletion, lane, delivery)
        SELECT $1, * FROM unnest($2::int2[], $3::uuid[]) ON CONFLICT DO NOTHING
        """

    /// Those that may be on their way, with what they were.
    func remember(
        _ deliveries: [(id: DeliveryID, state: DeliveryCode)], on connection: PostgresConnection
    ) throws {
        let open = deliveries.filter { $0.state == .pending }.map(\.id)
        guard !open.isEmpty else { return }
        _ = try connection.query(EventRedactor.keep, [.int8(deletion)] + EventRedactor.places(open))
    }

    private static let empty = """
        UPDATE entitled.attempt a SET response = NULL, head = NULL
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, delivery)
        WHERE a.lane = t.lane /* cluster: AND a.lane = ANY($1::int2[]) */
            AND a.delivery = t.delivery AND (a.response IS NOT NULL OR a.head IS NOT NULL)
        RETURNING 1
        """

    static func emptyAttempts(_ ids: [DeliveryID], on connection: PostgresConnection) throws -> Int64 {
        guard !ids.isEmpty else { return 0 }
        return Int64(try connection.query(empty, places(ids)).count)
    }

    // MARK: - Erasing

    private static let deleteAttempts = """
        DELETE FROM entitled.attempt a USING unnest($1::int2[], $2::uuid[]) AS t(lane, delivery)
        WHERE a.lane = t.lane /* cluster: AND a.lane = ANY($1::int2[]) */ AND a.delivery = t.delivery RETURNING 1
        """

    static func deleteAttempts(_ ids: [DeliveryID], on connection: PostgresConnection) throws -> Int64 {
        guard !ids.isEmpty else { return 0 }
        return Int64(try connection.query(deleteAttempts, places(ids)).count)
    }

    private static let deleteDeliveries = """
        DELETE FROM entitled.delivery d USING unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id RETURNING 1
        """
    /// The row of an event stays, as a bare id: what Apple still sends must not make the same event once more.
    private static let clear = """
        UPDATE entitled.event e SET body = '', original_transaction_id = NULL, sequence = NULL
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id) WHERE e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */
            AND e.id = t.id RETURNING 1
        """
    private static let deleteCopies = """
        DELETE FROM entitled.event_copy c USING unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        WHERE c.lane = t.lane /* cluster: AND c.lane = ANY($1::int2[]) */ AND c.id = t.id RETURNING 1
        """

    /// Erases them with all that was sent. Their lanes are held.
    ///
    /// - Parameter more: further deliveries, which are of no event.
    func erase(
        _ given: [Name], more: [(id: DeliveryID, state: DeliveryCode)], on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        let events = try EventRedactor.withCopies(given, on: connection)
        let deliveries = try EventRedactor.deliveries(of: events, on: connection) + more
        try remember(deliveries, on: connection)
        func count(_ sql: String, _ places: [PostgresValue]?) throws -> Int64 {
            Int64(try places.map { try connection.query(sql, $0).count } ?? 0)
        }
        let here = events.isEmpty ? nil : EventRedactor.places(events)
        return [
            "attempt": try EventRedactor.deleteAttempts(deliveries.map(\.id), on: connection),
            "delivery": try count(
                EventRedactor.deleteDeliveries, deliveries.isEmpty ? nil : EventRedactor.places(deliveries.map(\.id))),
            "event": try count(EventRedactor.clear, here),
            "event_copy": try count(EventRedactor.deleteCopies, here),
        ]
    }

    // MARK: - Parameters

    private static func places(_ events: [Name]) -> [PostgresValue] {
        [.int2s(events.map(\.lane.number)), .uuids(events.map(\.id))]
    }

    private static func places(_ deliveries: [DeliveryID]) -> [PostgresValue] {
        [.int2s(deliveries.map(\.lane.number)), .uuids(deliveries.map(\.bytes))]
    }
}
