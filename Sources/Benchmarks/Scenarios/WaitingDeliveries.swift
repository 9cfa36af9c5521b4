import Base
import Database
import Postgres

/// Deliveries that wait, written as a worker would have, but all at once.
struct WaitingDeliveries {
    private static let insert = """
        WITH made AS (
            INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body,
                sequence)
            SELECT g % 256, gen_random_uuid(), $4, 'demo', 1, (2000000000 + $5 + g)::text,
                (extract(epoch FROM now()) * 1000)::int8, $3, 1
            FROM generate_series(1, $2) AS g
            RETURNING lane, id, type, created_ms
        )
        INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
        SELECT m.lane, gen_random_uuid(), ($1::text[])[1 + (row_number() OVER ()) % cardinality($1::text[])], m.id,
            m.type, 0, m.created_ms + $6, m.created_ms
        FROM made m
        """

    /// - Parameters:
    ///   - count: one event each, spread over the lanes and the endpoints.
    ///   - ahead: ms until they are due.
    static func add(
        _ count: Int, to endpoints: [String], type: String = "RENEWAL", first: Int = 0, ahead: Int64 = 0,
        _ installation: Installation
    ) throws {
        _ = try installation.database.query(
            insert,
            [
                .texts(endpoints), .int8(Int64(count)), .bytea(try EventBodyCodec.compress(Array(body.utf8))),
                .text(type),
                .int8(Int64(first)), .int8(ahead),
            ])
    }

    static func left(for endpoints: [String], _ installation: Installation) throws -> Int64 {
        try installation.database.query(
            "SELECT count(*) FROM entitled.delivery WHERE state = 0 AND endpoint = ANY($1::text[])",
            [.texts(endpoints)]
        ).one().int("count")
    }

    /// Of a usual size.
    private static let body = """
        {"event":{"event_timestamp_ms":1790000000000,"product_id":"pro_monthly","period_type":"NORMAL",\
        "purchased_at_ms":1790000000000,"expiration_at_ms":1792592000000,"environment":"SANDBOX","entitlement_id":null,\
        "entitlement_ids":["pro"],"presented_offering_id":null,"transaction_id":"2000000123456789",\
        "original_transaction_id":"2000000123456789","is_family_share":false,"country_code":"US",\
        "app_user_id":"5f4dcc3b-5aa7-45d6-9d83-27deb882cf99","aliases":["5f4dcc3b-5aa7-45d6-9d83-27deb882cf99"],\
        "original_app_user_id":"5f4dcc3b-5aa7-45d6-9d83-27deb882cf99","currency":"USD","price":9.99,\
        "price_in_purchased_currency":9.99,"subscriber_attributes":{},"store":"APP_STORE","takehome_percentage":0.7,\
        "offer_code":null,"tax_percentage":null,"commission_percentage":null,"metadata":null,"renewal_number":2,\
        "type":"RENEWAL","id":"0FA1C2D3-E4F5-5678-9ABC-DEF012345678","app_id":"demo"},"api_version":"1.0"}
        """
}
