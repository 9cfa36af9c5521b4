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
        SELECT t.place, f.kind, f.signed_ms, f.payload, f.seq, f.source
        FROM unnest($1::int2[], $2::text[], $3::text[], $4::int2[], $5::int4[])
            AS t(lane, otid, app, environment, place)
        JOIN entitled.fact f ON f.lane = t.lane AND f.original_transaction_id = t.otid AND f.app = t.app
            AND f.environment = t.environment
        """

    /// What is known of a purchase.
    package struct Known: Sendable {
        package internal(set) var facts = PurchaseFacts()
        /// From signing to arrival of news that Apple sent late, in ms.
        package internal(set) var late: [Range<Int64>] = []
        /// The notification that came last.
        package internal(set) var lastNews: NewsOrigin?
        /// The transaction that came last by an app's post.
        package internal(set) var lastPost: NewsOrigin?
    }

    /// The facts of these purchases, in their order.
    package static func load(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [PurchaseFacts] {
        try known(of: keys, on: connection).map(\.facts)
    }

    /// Everything that is known of these purchases, in their order.
    package static func known(of keys: [PurchaseKey], on connection: PostgresConnection) throws -> [Known] {
        var known = Array(repeating: Known(), count: keys.count)
        guard !keys.isEmpty else { return known }
        let rows = try connection.query(
            select,
            [
                .int2s(keys.map(\.lane.number)), .texts(keys.map(\.originalTransactionID)), .texts(keys.map(\.app)),
                .int2s(keys.map(\.environment.code)), .int4s((0..<Int32(keys.count)).map { $0 }),
            ])
        for row in rows {
            let place = Int(try row.int(0))
            guard known.indices.contains(place), let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int(1)))
            else { continue }
            let fact = FactRow(
                kind: kind, signedDate: try row.int(2), header: nil, signature: nil,
                payload: try FactCodec.restore(try row.bytes(3)))
            fact.insert(into: &known[place].facts)
            let origin = NewsOrigin(seq: try row.int(4), source: NotificationSource(code: try row.int(5)))
            if origin.source == .posted, origin.seq > known[place].lastPost?.seq ?? .min {
                known[place].lastPost = origin
            }
            guard kind == .notification else { continue }
            if let late = origin.lateness(signed: fact.signedDate, in: keys[place].environment) {
                known[place].late.append(late)
            }
            if origin.isNews, origin.seq > known[place].lastNews?.seq ?? .min { known[place].lastNews = origin }
        }
        return known
    }

    /// A fact on its way into the database.
    package struct New: Sendable {
        package let key: PurchaseKey
        package let seq: Int64
        package let fact: FactRow
        package let source: NotificationSource

        package init(key: PurchaseKey, seq: Int64, fact: FactRow, source: NotificationSource = .store) {
            self.key = key
            self.seq = seq
            self.fact = fact
            self.source = source
        }
    }

    private static let insert = """
        INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, header,
            payload, signature, source)
        SELECT * FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[], $5::uuid[], $6::int2[], $7::int8[],
            $8::int8[], $9::uuid[], $10::bytea[], $11::bytea[], $12::int2[])
        ON CONFLICT DO NOTHING
        """

    /// Keeps these; what is known already is left as it is.
    ///
    /// - Parameter known: ids of JWS headers that are in the database; others are put there.
    package static func insert(
        _ facts: [New], known: Set<[UInt8]> = [], on connection: PostgresConnection
    ) throws {
        guard !facts.isEmpty else { return }
        try JWSHeaderStore.insert(facts.compactMap(\.fact.header), known: known, on: connection)
        _ = try connection.query(insert, try parameters(facts))
    }

    private static let insertNew = "\(insert) RETURNING app, environment, original_transaction_id"

    /// Keeps these, which have no headers; the purchases of which there was one that was not known.
    package static func insertNew(_ facts: [New], on connection: PostgresConnection) throws -> Set<PurchaseKey> {
        guard !facts.isEmpty else { return [] }
        return Set(
            try connection.query(insertNew, try parameters(facts)).compactMap { row in
                guard let environment = StoreEnvironment(code: Int16(clamping: try row.int(1))) else { return nil }
                return PurchaseKey(
                    app: try row.text(0), environment: environment, originalTransactionID: try row.text(2))
            })
    }

    private static func parameters(_ facts: [New]) throws -> [PostgresValue] {
        [
            .int2s(facts.map(\.key.lane.number)), .texts(facts.map(\.key.app)),
            .int2s(facts.map(\.key.environment.code)), .texts(facts.map(\.key.originalTransactionID)),
            .uuids(facts.map(\.fact.digest)), .int2s(facts.map(\.fact.kind.rawValue)),
            .int8s(facts.map(\.fact.signedDate)), .int8s(facts.map(\.seq)),
            .uuids(facts.map { $0.fact.header.map(StoredJWS.headerID) }),
            .byteas(try facts.map { try FactCodec.compress($0.fact.payload) }),
            .byteas(facts.map(\.fact.signature)), .int2s(facts.map(\.source.rawValue)),
        ]
    }
}
