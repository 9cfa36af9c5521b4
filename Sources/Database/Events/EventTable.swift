import Base
import Postgres

/// An event on its way into the database.
package struct NewEvent: Sendable {
    package let lane: Lane
    /// 16 bytes that follow from the event's cause.
    package let id: [UInt8]
    package let type: String
    package let app: String
    package let environment: StoreEnvironment
    package let originalTransactionID: String?
    package let body: [UInt8]
    /// Whether it is kept for the record only and has no deliveries.
    package let isForTheRecord: Bool
    /// Of a copy: that of its original, so that it takes none. Nil for all others, which get the next of their purchase.
    let sequence: Int64?
    /// The 16 bytes by which the notification that made it is known; nil for what no notification made.
    package var cause: [UInt8]?
    /// Of a cancellation or expiration.
    package var reason: String?

    package init(
        lane: Lane, id: [UInt8], type: String, app: String, environment: StoreEnvironment,
        originalTransactionID: String?, body: [UInt8], isForTheRecord: Bool = false
    ) {
        self.init(
            lane: lane, id: id, type: type, app: app, environment: environment,
            originalTransactionID: originalTransactionID, body: body, isForTheRecord: isForTheRecord, sequence: nil)
    }

    /// - Parameter sequence: given only with no `originalTransactionID`: numbers of purchases are given out by the database.
    init(
        lane: Lane, id: [UInt8], type: String, app: String, environment: StoreEnvironment,
        originalTransactionID: String?, body: [UInt8], isForTheRecord: Bool = false, sequence: Int64?
    ) {
        self.lane = lane
        self.id = id
        self.type = type
        self.app = app
        self.environment = environment
        self.originalTransactionID = originalTransactionID
        self.body = body
        self.isForTheRecord = isForTheRecord
        self.sequence = sequence
    }
}

/// Bodies of events as they are kept: zstd with a dictionary of the members that every body has.
package enum EventBodyCodec {
    /// The most that a body may grow to when it is restored.
    private static let limit = 64 << 20

    /// Part of the format: bodies compressed with it always need it.
    static let dictionary = Result {
        try ZstdDictionary(
            Array(
                """
                {"event":{"event_timestamp_ms":1790000000000,"product_id":"","period_type":"TRIAL","period_type":"NORMAL",\
                "purchased_at_ms":1790000000000,"expiration_at_ms":1790000000000,"environment":"SANDBOX",\
                "environment":"PRODUCTION","entitlement_id":null,"entitlement_ids":null,"entitlement_ids":["pro"],\
                "presented_offering_id":null,"transaction_id":"200000","original_transaction_id":"200000",\
                "is_family_share":false,"country_code":"US","app_user_id":"$RCAnonymousID:","aliases":["$RCAnonymousID:"],\
                "original_app_user_id":"$RCAnonymousID:","new_product_id":"","cancel_reason":"UNSUBSCRIBE",\
                "expiration_reason":"BILLING_ERROR","currency":"USD","is_trial_conversion":false,"price":9.99,\
                "price_in_purchased_currency":9.99,"subscriber_attributes":{},"store":"APP_STORE",\
                "takehome_percentage":0.7,"offer_code":null,"tax_percentage":null,"commission_percentage":null,\
                "metadata":null,"renewal_number":1,"type":"INITIAL_PURCHASE","type":"RENEWAL","type":"CANCELLATION",\
                "id":"","app_id":"","experiments":[]},"api_version":"1.0"}
                """.utf8), tables: tables)
    }

    /// Entropy tables that `ZDICT_finalizeDictionary` of zstd 1.5.4 made from 20,000 events of `storesim`'s subscribers, at level 3.
    /// Part of the format, like the dictionary.
    private static let tables = """
        N6Qw7AEAAAAuEMiSNAf///////8P8mJbY7utcYNbZO+O+qdtoB6p76VtyClJmVKSUmgSVxWbAXMCAAAmFQUgMY4BAATgAYYDgR\
        YtAw4fChwSAhQEDASBRmHgeRAABoChINkUIYK4jGgAygAAAKTP5MKpbCiDcEzWUgAAAAAAPAAAAAABAAAABAAAAAgAAAA=
        """

    /// - Parameter cause: of the event: kept behind the body in a skippable frame (RFC 8878 §3.1.2), which decompressing passes
    ///   over, in programs before this, too.
    package static func compress(_ body: [UInt8], cause: [UInt8]? = nil) throws -> [UInt8] {
        let frame = try Zstd.compress(body, dictionary: dictionary.get())
        guard let cause, cause.count == causeLength else { return frame }
        return frame + causeHead + cause
    }

    private static let causeLength = 16
    /// The magic number 0x184D2A5E and the length, in the byte order of zstd.
    private static let causeHead: [UInt8] = [0x5e, 0x2a, 0x4d, 0x18, 16, 0, 0, 0]

    /// The notification that made the event, by its 16 bytes; nil where none did, and for events of earlier versions.
    package static func cause(of stored: [UInt8]) -> [UInt8]? {
        let trailer = stored.suffix(causeHead.count + causeLength)
        guard stored.count > trailer.count, trailer.starts(with: causeHead) else { return nil }
        return Array(trailer.suffix(causeLength))
    }

    package static func restore(_ stored: [UInt8]) throws -> [UInt8] {
        try Zstd.decompress(stored, dictionary: dictionary.get(), limit: limit)
    }
}

/// Events in the database, each with a delivery for every endpoint that wants it.
package enum EventTable {
    private static func fresh(_ narrowed: String) -> String {
        """
        SELECT t.* FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::text[], $5::int2[], $6::text[], $7::bytea[],
            $9::int8[]) WITH ORDINALITY AS t(lane, id, type, app, environment, otid, body, sequence, place)
        WHERE NOT EXISTS (SELECT 1 FROM entitled.event e WHERE e.lane = t.lane \(narrowed) AND e.id = t.id)
        """
    }

    /// Each with the number behind the last of its purchase: only what is new takes one, so there are no gaps. Their
    /// lanes are held, so no other transaction gives out the same.
    ///
    /// The lane is no condition for an index: before the table is analyzed, as in a database that was just restored, the
    /// planner would read the keys of the whole lane for each event.
    private static let insertEvents = """
        /* cluster: for: */WITH fresh AS MATERIALIZED (\(fresh("")))/* end */
        INSERT INTO entitled.event
            (lane, id, type, app, environment, original_transaction_id, created_ms, body, sequence)
        SELECT f.lane, f.id, f.type, f.app, f.environment, f.otid, $8, f.body,
            CASE WHEN f.otid IS NULL THEN f.sequence ELSE coalesce(last.sequence, 0)
                + row_number() OVER (PARTITION BY f.lane, f.otid, f.app, f.environment ORDER BY f.place) END
        FROM /* cluster: (\(fresh("AND e.lane = ANY($1::int2[])"))) for: */fresh/* end */ f LEFT JOIN LATERAL (
            SELECT e.sequence FROM entitled.event e
            WHERE hashtext(e.original_transaction_id) = hashtext(f.otid) AND e.sequence IS NOT NULL
                AND e.lane + 0 = f.lane /* cluster: AND e.lane = ANY($1::int2[]) */
                AND e.original_transaction_id = f.otid AND e.app = f.app AND e.environment = f.environment
            ORDER BY e.sequence DESC LIMIT 1
        ) last ON true
        ON CONFLICT DO NOTHING RETURNING lane, id, sequence
        """

    private static let insertDeliveries = """
        INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, reason, next_ms, created_ms)
        SELECT t.lane, t.id, t.endpoint, t.event, t.event_type, t.state, t.reason, $8, $8
        FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::int2[], $7::text[])
            AS t(lane, id, endpoint, event, event_type, state, reason)
        ON CONFLICT DO NOTHING
        """

    /// Writes the events that are not known yet, and their deliveries; those that may be sent now come back.
    ///
    /// An event that is known keeps its body: nothing is told twice under two contents. The one exception is whose events
    /// they were when a customer is deleted (`EventRedaction`). Who gets it is read here, in the
    /// transaction that writes it.
    ///
    /// - Parameters:
    ///   - only: the endpoint that gets them whatever its filters are; nil for all, by their filters.
    ///   - tell: gets the events that are new, and not for the record only.
    package static func insert(
        _ events: [NewEvent], only: String? = nil, now: Int64, on connection: PostgresConnection,
        tell: ([NewEvent]) -> Void = { _ in }
    ) throws -> [DueDelivery] {
        let fresh = try insertFresh(events, now: now, on: connection).filter { !$0.event.isForTheRecord }
        tell(fresh.map(\.event))
        guard !fresh.isEmpty else { return [] }
        let endpoints = try EndpointTable.lock(.revenuecat, on: connection)
        var made: [(delivery: DueDelivery, state: DeliveryState)] = []
        var ordered: [DeliveryOrder.New] = []
        for (event, sequence) in fresh {
            for endpoint in endpoints
            where only.map({ $0 == endpoint.id })
                ?? endpoint.wants(type: event.type, app: event.app, environment: event.environment)
            {
                var delivery = DueDelivery(
                    id: DeliveryID(lane: event.lane, event: event.id, endpoint: endpoint.id), endpoint: endpoint.id,
                    event: event.id, eventType: event.type, attempts: 0, roundStart: 0, body: event.body,
                    sequence: sequence)
                delivery.needsCustomers = endpoint.needsCustomers
                delivery.cause = event.cause
                let state = endpoint.isEnabled ? DeliveryState.pending : .held
                if endpoint.ordering == .purchase, let purchase = event.purchase {
                    ordered.append(DeliveryOrder.New(delivery: delivery, state: state, purchase: purchase))
                } else {
                    made.append((delivery, state))
                }
            }
        }
        try insertDeliveries(made, now: now, on: connection)
        let first = try DeliveryOrder.insert(ordered, now: now, on: connection)
        return made.filter { $0.state == .pending }.map(\.delivery) + first
    }

    private static let selectKnown = """
        SELECT e.id FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.event e ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id
        """

    /// Those of these events that were written.
    package static func known(
        _ ids: [(lane: Lane, id: [UInt8])], on connection: PostgresConnection
    ) throws -> Set<[UInt8]> {
        guard !ids.isEmpty else { return [] }
        let rows = try connection.query(
            selectKnown, [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.id))])
        return Set(try rows.map { try $0.uuid("id") })
    }

    private static func insertFresh(
        _ given: [NewEvent], now: Int64, on connection: PostgresConnection
    ) throws -> [(event: NewEvent, sequence: Int64?)] {
        // The same event may come twice in one batch; its first body counts, and only that takes a number.
        var seen: Set<[UInt8]> = []
        let events = given.filter { seen.insert($0.id).inserted }
        var inserted: [[UInt8]: Int64?] = [:]
        for part in connection.laneGroups.split(events, by: \.lane) {
            let events = part.elements
            let rows = try connection.query(
                insertEvents,
                [
                    .int2s(events.map(\.lane.number)), .uuids(events.map(\.id)), .texts(events.map(\.type)),
                    .texts(events.map(\.app)), .int2s(events.map(\.environment.code)),
                    .texts(events.map(\.originalTransactionID)),
                    .byteas(try events.map { try EventBodyCodec.compress($0.body, cause: $0.cause) }), .int8(now),
                    .int8s(events.map(\.sequence)),
                ])
            for row in rows { inserted[try row.uuid("id")] = .some(try row.optionalInt("sequence")) }
        }
        return events.compactMap { event in inserted[event.id].map { (event, $0) } }
    }

    private static func insertDeliveries(
        _ made: [(delivery: DueDelivery, state: DeliveryState)], now: Int64, on connection: PostgresConnection
    ) throws {
        guard !made.isEmpty else { return }
        _ = try connection.query(
            insertDeliveries,
            [
                .int2s(made.map(\.delivery.id.lane.number)), .uuids(made.map(\.delivery.id.bytes)),
                .texts(made.map(\.delivery.endpoint)), .uuids(made.map(\.delivery.event)),
                .texts(made.map(\.delivery.eventType)), .int2s(made.map(\.state.rawValue)),
                .texts(made.map { $0.state == .held ? "endpoint disabled" : nil }), .int8(now),
            ])
    }
}
