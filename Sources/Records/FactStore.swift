import Base
import Postgres
import Queue
import Subscriptions

extension PurchaseKey {
    package var lane: Lane { Lane(app: app, environment: environment, subject: originalTransactionID) }
}

/// Facts in the database.
package enum FactStore {
    private static let select = """
        SELECT t.place, f.kind, f.signed_ms, f.payload, f.seq, f.source, f.digest, array_to_string(f.signed_again, ' ')
        FROM unnest($1::int2[], $2::text[], $3::text[], $4::int2[], $5::int4[])
            AS t(lane, otid, app, environment, place)
        CROSS JOIN LATERAL (
            SELECT * FROM entitled.fact f WHERE f.lane = t.lane AND f.original_transaction_id = t.otid AND f.app = t.app
                AND f.environment = t.environment LIMIT $6
        ) f
        """

    /// The facts of these purchases, in their order.
    package static func load(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [PurchaseFacts] {
        try known(of: keys, on: connection).map(\.facts)
    }

    /// Everything that is known of these purchases, in their order: what was folded before, else their rows.
    package static func known(
        of keys: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [KnownFacts] {
        try known(of: keys, within: Bounds(rows: nil, bytes: nil), on: connection).map { $0 ?? KnownFacts() }
    }

    /// How much is read at once.
    package struct Bounds: Sendable {
        /// Rows of a purchase that was not folded yet; what has more is not whole.
        let rows: Int?
        /// Bytes of all states together, as they are kept; at least one is read.
        let bytes: Int?

        package init(rows: Int?, bytes: Int?) {
            (self.rows, self.bytes) = (rows, bytes)
        }
    }

    /// The same within bounds; nil for what is left for another time.
    package static func known(
        of keys: [PurchaseKey], within bounds: Bounds, on connection: PostgresConnection
    ) throws -> [KnownFacts?] {
        let (folded, left) = try PurchaseFoldStore.read(keys, atMost: bounds.bytes, on: connection)
        let others = keys.indices.filter { folded[$0] == nil && !left.contains($0) }
        let rows = try unfolded(others.map { keys[$0] }, atMost: bounds.rows, on: connection)
        var known = [KnownFacts?](repeating: nil, count: keys.count)
        for (place, facts) in folded { known[place] = facts }
        for (place, facts) in zip(others, rows) { known[place] = facts }
        return known
    }

    /// The same by their rows alone.
    package static func unfolded(
        _ keys: [PurchaseKey], atMost limit: Int? = nil, on connection: PostgresConnection
    ) throws -> [KnownFacts] {
        var known = Array(repeating: KnownFacts(), count: keys.count)
        guard !keys.isEmpty else { return known }
        let rows = try connection.query(
            select,
            [
                .int2s(keys.map(\.lane.number)), .texts(keys.map(\.originalTransactionID)), .texts(keys.map(\.app)),
                .int2s(keys.map(\.environment.code)), .int4s((0..<Int32(keys.count)).map { $0 }),
                .int8(limit.map { Int64($0 + 1) }),
            ])
        for row in rows {
            let place = Int(try row.int(0))
            guard known.indices.contains(place) else { continue }
            guard known[place].rows < limit ?? .max else {
                known[place].isWhole = false
                continue
            }
            try known[place].note(row, of: keys[place])
        }
        return known
    }

    private static let selectPage = """
        SELECT 0, kind, signed_ms, payload, seq, source, digest, array_to_string(signed_again, ' ') FROM entitled.fact
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND digest > $5
        ORDER BY digest LIMIT $6
        """

    /// Everything that is known of a purchase by its rows, however many: some are read at a time.
    ///
    /// - Parameter goesOn: asked before each page.
    /// - Returns: nil if it did not go on.
    package static func all(
        of key: PurchaseKey, page: Int, on connection: PostgresConnection, while goesOn: () -> Bool
    ) throws -> KnownFacts? {
        var known = KnownFacts()
        var digest = [UInt8](repeating: 0, count: 16)
        while goesOn() {
            let rows = try connection.query(
                selectPage,
                [
                    .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app),
                    .int2(key.environment.code), .uuid(digest), .int8(Int64(page)),
                ])
            for row in rows {
                try known.note(row, of: key)
                digest = try row.uuid(6)
            }
            if rows.count < page { return known }
        }
        return nil
    }

    private static let selectMark = """
        SELECT concat_ws(' ', count(*), sum(cardinality(signed_again)), bit_xor(hashtext(digest::text))) FROM entitled.fact
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
        """

    /// A text that changes with the rows of a purchase.
    package static func mark(of key: PurchaseKey, on connection: PostgresConnection) throws -> String {
        try connection.query(
            selectMark,
            [
                .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
            ]
        ).one().text(0)
    }

    private static let selectPayloads = """
        SELECT t.place, f.payload FROM unnest($1::int2[], $2::text[], $3::text[], $4::int2[], $5::uuid[], $6::uuid[])
            WITH ORDINALITY AS t(lane, otid, app, environment, least, greatest, place)
        JOIN entitled.fact f ON f.lane = t.lane AND f.original_transaction_id = t.otid AND f.app = t.app
            AND f.environment = t.environment AND f.digest BETWEEN t.least AND t.greatest
        """

    /// The payloads of facts, in their order; nil where one is not there.
    package static func payloads(
        _ ids: [(key: PurchaseKey, id: FactID)], on connection: PostgresConnection
    ) throws -> [[UInt8]?] {
        var payloads = [[UInt8]?](repeating: nil, count: ids.count)
        guard !ids.isEmpty else { return payloads }
        let rows = try connection.query(
            selectPayloads,
            [
                .int2s(ids.map(\.key.lane.number)), .texts(ids.map(\.key.originalTransactionID)),
                .texts(ids.map(\.key.app)), .int2s(ids.map(\.key.environment.code)), .uuids(ids.map(\.id.least)),
                .uuids(ids.map(\.id.greatest)),
            ])
        for row in rows { payloads[Int(try row.int(0)) - 1] = try FactCodec.restore(try row.bytes(1)) }
        return payloads
    }
}

extension FactID {
    /// The digests that begin with it.
    var least: [UInt8] { bytes + [UInt8](repeating: 0, count: 8) }
    var greatest: [UInt8] { bytes + [UInt8](repeating: 0xff, count: 8) }

    private var bytes: [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: prefix >> ($0 * 8)) } }
}

extension KnownFacts {
    /// A row of `fact`: place, kind, signed, payload, seq, source, digest, signed again.
    fileprivate mutating func note(_ row: PostgresRow, of key: PurchaseKey) throws {
        rows += 1
        guard let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int(1))) else { return }
        let fact = FactRow(
            kind: kind, signedDate: try row.int(2), header: nil, signature: nil,
            payload: try FactCodec.restore(try row.bytes(3)), again: try FactRow.dates(row.optionalText(7)),
            digest: try row.uuid(6))
        note(
            fact, NewsOrigin(seq: try row.int(4), source: NotificationSource(code: try row.int(5))), in: key.environment
        )
    }
}
