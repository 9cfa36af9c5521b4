import Base
import Compression
import Postgres
import Queue

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
    /// Whether it is for nobody, only for the record.
    package let isForTheRecord: Bool

    package init(
        lane: Lane, id: [UInt8], type: String, app: String, environment: StoreEnvironment,
        originalTransactionID: String?, body: [UInt8], isForTheRecord: Bool = false
    ) {
        self.lane = lane
        self.id = id
        self.type = type
        self.app = app
        self.environment = environment
        self.originalTransactionID = originalTransactionID
        self.body = body
        self.isForTheRecord = isForTheRecord
    }
}

/// Bodies of events as they are kept: zstd with a dictionary of the members that every body has.
package enum EventBodyCodec {
    /// The most that a body may grow to when it is restored.
    private static let limit = 64 << 20

    /// Part of the format: bodies compressed with it need it for ever.
    private static let dictionary = Result {
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
                """.utf8))
    }

    package static func compress(_ body: [UInt8]) throws -> [UInt8] {
        try Zstd.compress(body, dictionary: dictionary.get())
    }

    package static func restore(_ stored: [UInt8]) throws -> [UInt8] {
        try Zstd.decompress(stored, dictionary: dictionary.get(), limit: limit)
    }
}

/// Events in the database, each with a delivery for every endpoint that wants it.
package enum EventStore {
    private static let insertEvents = """
        INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body)
        SELECT t.lane, t.id, t.type, t.app, t.environment, t.otid, $8, t.body
        FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::text[], $5::int2[], $6::text[], $7::bytea[])
            AS t(lane, id, type, app, environment, otid, body)
        ON CONFLICT DO NOTHING RETURNING lane, id
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
    /// An event that is known keeps its body: nothing is told twice under two contents. Who gets it is read here, in the
    /// transaction that writes it.
    ///
    /// - Parameter only: the endpoint that gets them whatever its filters are; nil for all, by their filters.
    package static func insert(
        _ events: [NewEvent], only: String? = nil, now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        let fresh = try insertFresh(events, now: now, on: connection).filter { !$0.isForTheRecord }
        guard !fresh.isEmpty else { return [] }
        let endpoints = try EndpointStore.lock(on: connection)
        var made: [(delivery: DueDelivery, state: DeliveryState)] = []
        for event in fresh {
            for endpoint in endpoints
            where only.map({ $0 == endpoint.id })
                ?? endpoint.wants(type: event.type, app: event.app, environment: event.environment)
            {
                let delivery = DueDelivery(
                    id: DeliveryID(lane: event.lane, event: event.id, endpoint: endpoint.id), endpoint: endpoint.id,
                    event: event.id, eventType: event.type, attempts: 0, roundStart: 0, body: event.body)
                made.append((delivery, endpoint.isEnabled ? .pending : .held))
            }
        }
        try insertDeliveries(made, now: now, on: connection)
        return made.filter { $0.state == .pending }.map(\.delivery)
    }

    private static func insertFresh(
        _ events: [NewEvent], now: Int64, on connection: PostgresConnection
    ) throws -> [NewEvent] {
        guard !events.isEmpty else { return [] }
        let rows = try connection.query(
            insertEvents,
            [
                .int2s(events.map(\.lane.number)), .uuids(events.map(\.id)), .texts(events.map(\.type)),
                .texts(events.map(\.app)), .int2s(events.map(\.environment.code)),
                .texts(events.map(\.originalTransactionID)),
                .byteas(try events.map { try EventBodyCodec.compress($0.body) }), .int8(now),
            ])
        var inserted: Set<[UInt8]> = []
        for row in rows {
            inserted.insert(try row.uuid(1))
        }
        // The same event may come twice in one batch; only its first body was written.
        return events.filter { inserted.remove($0.id) != nil }
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
