import Base
import Postgres
import Subscriptions

/// What the facts of purchases with many of them come to, kept in the transactions that add facts.
///
/// A state is what the rows of `fact` fold to, never more and never less. What is new goes into a short tail first, so that
/// the whole is written now and then only.
package enum PurchaseFoldTable {
    /// A purchase with fewer rows is read by them.
    package static let leastRows = 48
    /// To be counted up when older states are to be made again.
    static let codec: Int16 = 1
    /// The longest tail, in bytes: a row of this table fits into a page beside others.
    private static let longestTail = 1500
    /// Bytes of a state before it is compressed: what is larger is not read.
    package static let largestState = 64 << 20

    private static let select = """
        SELECT t.place, s.facts, s.state, s.tail
        FROM \(PurchaseKeys.unnest(isNumbered: true))
        JOIN entitled.purchase_fold s ON \(PurchaseKeys.equal("s")) AND s.codec = $5
        ORDER BY t.place
        """

    /// What is kept of these purchases, by their places. What cannot be read is left out.
    package static func read(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [Int: KnownFacts] {
        try read(keys, atMost: nil, on: connection).found
    }

    /// - Parameter limit: bytes of states that are opened; places beyond are left for another time.
    static func read(
        _ keys: [PurchaseKey], atMost limit: Int?, on connection: PostgresConnection
    ) throws -> (found: [Int: KnownFacts], left: Set<Int>) {
        guard !keys.isEmpty else { return ([:], []) }
        var found: [Int: KnownFacts] = [:]
        var left: Set<Int> = []
        var opened = 0
        for row in try connection.query(select, PurchaseKeys(keys).parameters + [.int2(codec)]) {
            let (place, state) = (Int(try row.int("place")) - 1, try row.bytes("state"))
            guard opened < limit ?? .max else {
                left.insert(place)
                continue
            }
            opened += state.count
            guard var known = try known(state: state, tail: try row.optionalBytes("tail")) else { continue }
            known.rows = Int(clamping: try row.int("facts"))
            known.isFolded = true
            found[place] = known
        }
        return (found, left)
    }

    private static func known(state: [UInt8], tail: [UInt8]?) throws -> KnownFacts? {
        guard let bytes = try? Zstd.decompress(state, limit: largestState), var known = KnownFacts(bytes: bytes) else {
            return nil
        }
        guard let tail else { return known }
        guard let news = KnownFacts(bytes: tail) else { return nil }
        known.formUnion(news)
        return known
    }

    private static let selectTails = """
        SELECT t.place, s.codec, s.facts, s.tail
        FROM \(PurchaseKeys.unnest(isNumbered: true))
        JOIN entitled.purchase_fold s ON \(PurchaseKeys.equal("s"))
        ORDER BY s.lane, s.original_transaction_id, s.app, s.environment FOR UPDATE OF s
        """

    private static let updateTails = """
        UPDATE entitled.purchase_fold s SET tail = t.tail, facts = t.facts
        FROM \(PurchaseKeys.unnest("tail bytea", "facts int8"))
        WHERE \(PurchaseKeys.equal("s"))
        """

    /// Adds to the states of these purchases, where there are any.
    ///
    /// - Parameter known: what is new of a purchase; asked for those with a state, which are few.
    static func add(
        to keys: [PurchaseKey], _ known: (PurchaseKey) -> KnownFacts, on connection: PostgresConnection
    ) throws {
        guard !keys.isEmpty else { return }
        var news: [PurchaseKey: KnownFacts] = [:]
        var tails: [(key: PurchaseKey, bytes: [UInt8], facts: Int64)] = []
        var long: [PurchaseKey] = []
        var broken: [PurchaseKey] = []
        for (key, row) in try lockedTails(of: keys, on: connection) {
            guard try row.int("codec") == Int64(codec) else {
                broken.append(key)
                continue
            }
            var tail = known(key)
            news[key] = tail
            if let bytes = try row.optionalBytes("tail") {
                guard let former = KnownFacts(bytes: bytes) else {
                    broken.append(key)
                    continue
                }
                tail.formUnion(former)
            }
            guard let bytes = tail.bytes else {
                broken.append(key)
                continue
            }
            let facts = try row.int("facts") + Int64(news[key]?.rows ?? 0)
            if bytes.count > longestTail { long.append(key) } else { tails.append((key, bytes, facts)) }
        }
        if !tails.isEmpty {
            _ = try connection.query(
                updateTails,
                PurchaseKeys(tails.map(\.key)).parameters + [.byteas(tails.map(\.bytes)), .int8s(tails.map(\.facts))])
        }
        try rewrite(long, with: news, &broken, on: connection)
        try remove(broken, on: connection)
    }

    /// The rows of those that have one, locked, in the order of their lanes.
    private static func lockedTails(
        of keys: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [(PurchaseKey, PostgresRow)] {
        try connection.laneGroups.split(keys, by: \.lane).flatMap { part in
            try connection.query(selectTails, PurchaseKeys(part.elements).parameters).map { row in
                (part.elements[Int(try row.int("place")) - 1], row)
            }
        }
    }

    private static func rewrite(
        _ keys: [PurchaseKey], with news: [PurchaseKey: KnownFacts], _ broken: inout [PurchaseKey],
        on connection: PostgresConnection
    ) throws {
        guard !keys.isEmpty else { return }
        let former = try read(keys, on: connection)
        var whole: [PurchaseKey: KnownFacts] = [:]
        for (place, key) in keys.enumerated() {
            guard var known = former[place], let new = news[key] else {
                broken.append(key)
                continue
            }
            known.formUnion(new)
            whole[key] = known
        }
        try write(whole, on: connection)
    }

    private static let upsert = """
        INSERT INTO entitled.purchase_fold (lane, original_transaction_id, app, environment, codec, facts, folded_ms, state)
        SELECT lane, otid, app, environment, $7, facts, (extract(epoch FROM now()) * 1000)::int8, state
        FROM \(PurchaseKeys.unnest("facts int8", "state bytea"))
        ON CONFLICT (lane, original_transaction_id, app, environment) DO UPDATE SET codec = excluded.codec,
            facts = excluded.facts, folded_ms = excluded.folded_ms, state = excluded.state, tail = NULL
        """

    /// Why what the facts of a purchase come to is not kept.
    package enum Unkept: Error, Equatable, CustomStringConvertible {
        /// One of them has no form.
        case formless
        case larger(bytes: Int, than: Int)

        package var description: String {
            switch self {
            case .formless: "one of its facts cannot be kept in a folded form"
            case .larger(let bytes, let limit): "they have \(bytes) bytes, and at most \(limit) are kept"
            }
        }
    }

    /// Writes whole states. Where one cannot be kept, the former one goes: it is not whole any more.
    ///
    /// - Parameter largest: bytes of a state.
    /// - Returns: those that are not kept.
    @discardableResult
    package static func write(
        _ whole: [PurchaseKey: KnownFacts], largest: Int = PurchaseFoldTable.largestState,
        on connection: PostgresConnection
    ) throws -> [PurchaseKey: Unkept] {
        var states: [(key: PurchaseKey, facts: Int64, bytes: [UInt8])] = []
        var unkept: [PurchaseKey: Unkept] = [:]
        for (key, known) in whole.sorted(by: { $0.key.originalTransactionID < $1.key.originalTransactionID })
        where known.isWhole {
            guard let bytes = known.bytes else {
                unkept[key] = .formless
                continue
            }
            guard bytes.count <= largest else {
                unkept[key] = .larger(bytes: bytes.count, than: largest)
                continue
            }
            states.append((key, Int64(known.rows), try Zstd.compress(bytes)))
        }
        if !states.isEmpty {
            _ = try connection.query(
                upsert,
                PurchaseKeys(states.map(\.key)).parameters + [
                    .int8s(states.map(\.facts)), .byteas(states.map(\.bytes)), .int2(codec),
                ])
        }
        try remove(Array(unkept.keys), on: connection)
        return unkept
    }

    /// Folds a purchase anew from its rows, whose lane is held, where it has many.
    package static func foldAgain(_ key: PurchaseKey, on connection: PostgresConnection) throws {
        guard let known = try FactTable.unfolded([key], on: connection).first, known.rows >= leastRows else { return }
        try write([key: known], on: connection)
    }

    private static let selectNext = """
        SELECT app, environment, original_transaction_id, codec FROM entitled.purchase_fold
        WHERE (lane, original_transaction_id, app, environment) > ($1, $2, $3, $4)
        ORDER BY lane, original_transaction_id, app, environment LIMIT 1
        """

    /// The purchase with a kept state that follows another one, and whether this program reads it; nil: that was the last.
    package static func next(
        after key: PurchaseKey?, on connection: PostgresConnection
    ) throws -> (key: PurchaseKey, isCurrent: Bool)? {
        let rows = try connection.query(
            selectNext,
            [
                .int2(key?.lane.number ?? -1), .text(key?.originalTransactionID ?? ""), .text(key?.app ?? ""),
                .int2(key?.environment.code ?? -1),
            ])
        guard let row = rows.first else { return nil }
        return (try PurchaseKey(row), try row.int("codec") == Int64(codec))
    }

    private static let delete = """
        DELETE FROM entitled.purchase_fold s
        USING \(PurchaseKeys.unnest)
        WHERE \(PurchaseKeys.equal("s"))
        """

    /// These are made again from their rows.
    package static func remove(_ keys: [PurchaseKey], on connection: PostgresConnection) throws {
        guard !keys.isEmpty else { return }
        _ = try connection.query(delete, PurchaseKeys(keys).parameters)
    }
}
