import Base
import Postgres
import Subscriptions

extension FactTable {
    /// A fact on its way into the database.
    package struct New: Sendable {
        package let key: PurchaseKey
        package let seq: Int64
        package let fact: FactRow
        package let source: NotificationSource
        /// The row that stands for it, where it says nothing that this row does not say; nil: it gets one of its own.
        package let kept: FactID?

        package init(
            key: PurchaseKey, seq: Int64, fact: FactRow, source: NotificationSource = .store, kept: FactID? = nil
        ) {
            self.key = key
            self.seq = seq
            self.fact = fact
            self.source = source
            self.kept = kept
        }

        fileprivate var withRowOfItsOwn: New { New(key: key, seq: seq, fact: fact, source: source) }

        /// The other signatures for which its row stands.
        fileprivate var signaturesOfItsOwn: [New] {
            fact.again.map { date in
                let other = FactRow(kind: fact.kind, signedDate: date, header: nil, signature: nil, payload: [])
                return New(key: key, seq: seq, fact: other, source: source, kept: fact.id)
            }
        }

        /// What is known by it alone.
        fileprivate var known: KnownFacts {
            var known = KnownFacts()
            known.note(fact, NotificationOrigin(seq: seq, source: source), in: key.environment, as: kept)
            known.rows = kept == nil ? 1 : 0
            return known
        }
    }

    private static let insert = """
        INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, header,
            payload, signature, source, signed_again)
        SELECT lane, app, environment, otid, digest, kind, signed, seq, header, payload, signature, source,
            string_to_array(again, ' ')::int8[]
        FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[], $5::uuid[], $6::int2[], $7::int8[],
            $8::int8[], $9::uuid[], $10::bytea[], $11::bytea[], $12::int2[], $13::text[])
            AS t(lane, app, environment, otid, digest, kind, signed, seq, header, payload, signature, source, again)
        ON CONFLICT DO NOTHING
        """

    /// Keeps these; what is known already is left as it is. What was folded of their purchases has them, too.
    ///
    /// - Parameters:
    ///   - known: ids of JWS headers that are in the database; others are put there.
    ///   - whole: purchases of which everything is folded anew, with everything that is known of them.
    package static func insert(
        _ facts: [New], known: Set<[UInt8]> = [], whole: [PurchaseKey: KnownFacts] = [:],
        on connection: PostgresConnection
    ) throws {
        guard !facts.isEmpty else { return }
        let (new, again) = (facts.filter { $0.kept == nil }, facts.filter { $0.kept != nil })
        // First the rows: a later fact of the same transaction may be another signature of one of them.
        try add(new, known: known, on: connection)
        // A row that is gone stands for nothing: what it should have stood for gets one of its own.
        let lost = try extend(again, on: connection).map(\.withRowOfItsOwn)
        try add(lost, known: known, on: connection)
        let places = Set(lost.map(\.key))
        let kept = again.filter { fact in !lost.contains { $0.key == fact.key && $0.fact.digest == fact.fact.digest } }
        try fold((new + kept + lost).filter { whole[$0.key] == nil }, on: connection)
        try PurchaseFoldTable.write(whole.filter { !places.contains($0.key) }, on: connection)
        try PurchaseFoldTable.remove(places.filter { whole[$0] != nil }, on: connection)
    }

    private static func add(_ new: [New], known: Set<[UInt8]>, on connection: PostgresConnection) throws {
        guard !new.isEmpty else { return }
        try JWSHeaderTable.insert(new.compactMap(\.fact.header), known: known, on: connection)
        _ = try connection.query(insert, try parameters(new))
        // Where the row was there already, its signatures and these are one set.
        _ = try extend(new.flatMap(\.signaturesOfItsOwn), on: connection)
    }

    private static let insertNew = "\(insert) RETURNING app, environment, original_transaction_id"

    /// Keeps these, which have no headers; the purchases of which there was one that was not known.
    package static func insertNew(_ facts: [New], on connection: PostgresConnection) throws -> Set<PurchaseKey> {
        guard !facts.isEmpty else { return [] }
        let rows = try connection.query(insertNew, try parameters(facts))
        try fold(facts, on: connection)
        return Set(try rows.map { try PurchaseKey($0) })
    }

    private static func fold(_ facts: [New], on connection: PostgresConnection) throws {
        let news = Dictionary(grouping: facts.filter { $0.fact.kind != .announcement }, by: \.key)
        try PurchaseFoldTable.add(
            to: Array(news.keys),
            { key in news[key, default: []].reduce(into: KnownFacts()) { $0.formUnion($1.known) } }, on: connection)
    }

    private static let extending = """
        UPDATE entitled.fact f SET signed_again = (
            SELECT array_agg(at ORDER BY at) FROM (
                SELECT at, row_number() OVER (ORDER BY at) AS place, count(*) OVER () AS number
                FROM (SELECT DISTINCT unnest(f.signed_again || t.signed) AS at) AS signings
            ) AS ordered
            WHERE place <= \(SignedVersions<TransactionFact>.mostSignatures) OR place = number)
        FROM (
            SELECT place, lane, otid, app, environment, lowest, highest, signed
            FROM \(PurchaseKeys.unnest("lowest uuid", "highest uuid", "signed int8", isNumbered: true))
        ) t
        WHERE \(PurchaseKeys.equal("f"))
            AND f.digest BETWEEN t.lowest AND t.highest
        RETURNING t.place
        """

    /// Lets rows stand for these signatures, too (the earliest of them and the last: `SignedVersions` counts no others); those whose
    /// row is not there. A statement changes a row once, so that several signatures of one row are written in turn.
    private static func extend(_ facts: [New], on connection: PostgresConnection) throws -> [New] {
        guard !facts.isEmpty else { return [] }
        var rounds: [[New]] = []
        var counts: [ExtendedRow: Int] = [:]
        for fact in facts {
            let round = counts[ExtendedRow(fact), default: 0]
            counts[ExtendedRow(fact)] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(fact)
        }
        return try rounds.flatMap { round in
            let ids = round.map { $0.kept ?? .none }
            let found = Set(
                try connection.query(
                    extending,
                    PurchaseKeys(round.map(\.key)).parameters + [
                        .uuids(ids.map(\.least)), .uuids(ids.map(\.greatest)), .int8s(round.map(\.fact.signedDate)),
                    ]
                ).map { Int(try $0.int("place")) - 1 })
            return round.indices.filter { !found.contains($0) }.map { round[$0] }
        }
    }

    private struct ExtendedRow: Hashable {
        let key: PurchaseKey
        let id: FactID?

        init(_ fact: New) {
            (key, id) = (fact.key, fact.kept)
        }
    }

    private static func parameters(_ facts: [New]) throws -> [PostgresValue] {
        PurchaseKeys(facts.map(\.key)).columns + [
            .uuids(facts.map(\.fact.digest)), .int2s(facts.map(\.fact.kind.rawValue)),
            .int8s(facts.map(\.fact.signedDate)), .int8s(facts.map(\.seq)),
            .uuids(facts.map { $0.fact.header.map(StoredJWS.headerID) }),
            .byteas(try facts.map { try FactCodec.compress($0.fact.payload) }),
            .byteas(facts.map(\.fact.signature)), .int2s(facts.map(\.source.rawValue)),
            .texts(facts.map { $0.fact.again.isEmpty ? nil : $0.fact.again.map(String.init).joined(separator: " ") }),
        ]
    }
}
