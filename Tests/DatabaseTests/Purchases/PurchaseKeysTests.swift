import Base
import Database
import Postgres
import Subscriptions
import Testing

struct PurchaseKeysTests {
    private static let keys = [
        PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000"),
        PurchaseKey(app: "other", environment: .sandbox, originalTransactionID: "1000"),
    ]

    @Test func `names and types of columns follow the order of the parameters`() {
        #expect(
            PurchaseKeys.unnest
                == "unnest($1::int2[], $2::text[], $3::text[], $4::int2[]) AS t(lane, otid, app, environment)")
        #expect(
            PurchaseKeys.unnest("owner text", "facts int8", from: 3, isNumbered: true)
                == "unnest($3::int2[], $4::text[], $5::text[], $6::int2[], $7::text[], $8::int8[]) WITH ORDINALITY"
                + " AS t(lane, otid, app, environment, owner, facts, place)")
    }

    @Test func `Postgres makes the same keys of the parameters, in their order`() throws {
        let bench = try Bench()
        let rows = try bench.connection.query(
            """
            SELECT app, environment, otid AS original_transaction_id, lane, place
            FROM \(PurchaseKeys.unnest("place int4")) ORDER BY place
            """, PurchaseKeys(Self.keys).placed)
        #expect(try rows.map { try PurchaseKey($0) } == Self.keys)
        #expect(try rows.map { try $0.int("lane") } == Self.keys.map { Int64($0.lane.number) })
        #expect(try rows.map { try $0.int("place") } == [0, 1])
        let columns = try bench.connection.query(
            """
            SELECT t.* FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[])
                WITH ORDINALITY AS t(lane, app, environment, original_transaction_id, place) ORDER BY place
            """, PurchaseKeys(Self.keys).columns)
        #expect(try columns.map { try PurchaseKey($0) } == Self.keys)
    }
}
