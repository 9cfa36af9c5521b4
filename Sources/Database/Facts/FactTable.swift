import Base
import Postgres
import Subscriptions

extension PurchaseKey {
    package var lane: Lane { Lane(app: app, environment: environment, subject: originalTransactionID) }
}

/// Facts in the database.
package enum FactTable {
    private static let select = """
        SELECT t.place, f.kind, f.signed_ms, f.payload, f.seq, f.source, f.digest,
            array_to_string(f.signed_again, ' ') AS again
        FROM \(PurchaseKeys.unnest("place int4"))
        CROSS JOIN LATERAL (
            SELECT * FROM entitled.fact f WHERE \(PurchaseKeys.equal("f")) LIMIT $6
        ) f
        """

    /// The facts of these purchases, in their order.
    package static func load(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [PurchaseFacts] {
        try known(of: keys, on: connection).map(\.facts)
    }

    /// Whether Apple's word of each of these transactions is there. A purchase as a whole, without an id, counts as known.
    package static func knowsAll(
        _ transactions: [(key: PurchaseKey, id: String?)], on connection: PostgresConnection
    ) throws -> Bool {
        zip(transactions, try load(transactions.map(\.key), on: connection)).allSatisfy { named, facts in
            named.id.map { id in facts.transactions.contains { $0.transactionID == id } } ?? true
        }
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
        let (folded, left) = try PurchaseFoldTable.read(keys, atMost: bounds.bytes, on: connection)
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
        try connection.laneGroups.map(keys, by: \.lane) { keys in
            try rows(of: keys, atMost: limit, on: connection)
        }
    }

    /// - Parameter keys: in lanes of one group.
    private static func rows(
        of keys: [PurchaseKey], atMost limit: Int?, on connection: PostgresConnection
    ) throws -> [KnownFacts] {
        var known = Array(repeating: KnownFacts(), count: keys.count)
        guard !keys.isEmpty else { return known }
        let rows = try connection.query(
            select,
            PurchaseKeys(keys).placed + [.int8(limit.map { Int64($0 + 1) })])
        // What is too much is not read: it would be for nothing.
        var counts = Array(repeating: 0, count: keys.count)
        let places = try rows.map { Int(try $0.int("place")) }
        for place in places where counts.indices.contains(place) { counts[place] += 1 }
        for (row, place) in zip(rows, places) where counts.indices.contains(place) {
            known[place].isWhole = counts[place] <= limit ?? .max
            if known[place].isWhole { try known[place].note(row, of: keys[place]) }
        }
        return known
    }

    /// Everything that is known of a purchase by its rows, however many: some are read at a time.
    ///
    /// - Parameter goesOn: asked before each page.
    /// - Returns: nil if it did not go on.
    package static func all(
        of key: PurchaseKey, page: Int, on connection: PostgresConnection, while goesOn: () -> Bool
    ) throws -> KnownFacts? {
        var reading = Reading(of: key)
        return try reading.readAll(page: page, on: connection, while: goesOn) ? reading.known : nil
    }

    private static let selectCounts = """
        SELECT t.place, c.facts FROM \(PurchaseKeys.unnest(isNumbered: true))
        CROSS JOIN LATERAL (
            SELECT count(*) AS facts FROM (
                SELECT FROM entitled.fact f WHERE \(PurchaseKeys.equal("f")) LIMIT $5
            ) f
        ) c ORDER BY t.place
        """

    /// How many rows each of these purchases has, counted up to a limit.
    package static func counts(
        of keys: [PurchaseKey], upTo limit: Int, on connection: PostgresConnection
    ) throws -> [Int] {
        guard !keys.isEmpty else { return [] }
        return try connection.laneGroups.map(keys, by: \.lane) { keys in
            try connection.query(
                selectCounts,
                PurchaseKeys(keys).parameters + [.int8(Int64(limit))]
            ).map { Int(try $0.int("facts")) }
        }
    }

    private static let selectPayloads = """
        SELECT t.place, f.payload FROM \(PurchaseKeys.unnest("least uuid", "greatest uuid", isNumbered: true))
        JOIN entitled.fact f ON \(PurchaseKeys.equal("f")) AND f.digest BETWEEN t.least AND t.greatest
        """

    /// The payloads of facts, in their order; nil where one is not there.
    package static func payloads(
        _ ids: [(key: PurchaseKey, id: FactID)], on connection: PostgresConnection
    ) throws -> [[UInt8]?] {
        var payloads = [[UInt8]?](repeating: nil, count: ids.count)
        guard !ids.isEmpty else { return payloads }
        let rows = try connection.query(
            selectPayloads,
            PurchaseKeys(ids.map(\.key)).parameters + [.uuids(ids.map(\.id.least)), .uuids(ids.map(\.id.greatest))])
        for row in rows { payloads[Int(try row.int("place")) - 1] = try FactCodec.restore(try row.bytes("payload")) }
        return payloads
    }
}

extension FactTable {
    /// What is known of a purchase by its rows, read some at a time and without a lock, while others add more. Facts only
    /// grow, so that what came meanwhile is read afterwards; where rows went, another reading has to begin.
    package struct Reading {
        private let key: PurchaseKey
        /// By the rows that were read.
        package private(set) var known = KnownFacts()
        /// What changes with the signatures of a row, of all rows that were read, by the beginnings of their digests.
        private var signatures: [UInt64: Int64] = [:]

        /// Digests that are compared at once.
        private static let digestPage = 20_000
        private static let first = [UInt8](repeating: 0, count: 16)

        /// Not how many signatures a row stands for: where there are too many, a later one takes the place of another.
        private static let signing = "coalesce(hash_array_extended(signed_again, 0), 0)"
        private static let source = """
            FROM entitled.fact WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
            """
        private static let selectRows = """
            SELECT kind, signed_ms, payload, seq, source, digest, array_to_string(signed_again, ' ') AS again,
                \(signing) AS signing
            \(source)
            """
        private static let selectPage = "\(selectRows) AND digest > $5 ORDER BY digest LIMIT $6"
        private static let selectSome = "\(selectRows) AND digest = ANY($5::uuid[])"
        private static let selectDigests = """
            SELECT digest, \(signing) AS signing \(source) AND digest > $5 ORDER BY digest LIMIT $6
            """

        package init(of key: PurchaseKey) {
            self.key = key
        }

        private var place: [PostgresValue] {
            [.int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code)]
        }

        /// Reads what is there; once, before anything else.
        ///
        /// - Parameters:
        ///   - page: rows that are read at once.
        ///   - goesOn: asked before each page.
        /// - Returns: whether it went on to the end.
        package mutating func readAll(
            page: Int, on connection: PostgresConnection, while goesOn: () -> Bool
        ) throws -> Bool {
            var last = Reading.first
            while goesOn() {
                let rows = try connection.query(Reading.selectPage, place + [.uuid(last), .int8(Int64(page))])
                for row in rows { last = try note(row) }
                if rows.count < page { return true }
            }
            return false
        }

        /// Reads what was added since. With the lane held, what is known is then all that there is.
        ///
        /// - Parameter page: rows that are read at once.
        /// - Returns: false: rows went, and what they said is known still.
        package mutating func catchUp(page: Int, on connection: PostgresConnection) throws -> Bool {
            var (count, found) = (0, 0)
            var changed: [[UInt8]] = []
            var last = Reading.first
            while true {
                let rows = try connection.query(
                    Reading.selectDigests, place + [.uuid(last), .int8(Int64(Reading.digestPage))])
                for row in rows {
                    last = try row.uuid("digest")
                    count += 1
                    let former = signatures[FactID(digest: last, base: 0).prefix]
                    if former != nil { found += 1 }
                    if try row.int("signing") != former { changed.append(last) }
                }
                if rows.count < Reading.digestPage { break }
            }
            guard found == known.rows else { return false }
            for start in stride(from: 0, to: changed.count, by: page) {
                let some = Array(changed[start..<min(start + page, changed.count)])
                for row in try connection.query(Reading.selectSome, place + [.uuids(some)]) { _ = try note(row) }
            }
            // Some of these rows were counted before.
            known.rows = count
            return true
        }

        /// The digest of the row.
        private mutating func note(_ row: PostgresRow) throws -> [UInt8] {
            let digest = try row.uuid("digest")
            try known.note(row, of: key)
            signatures[FactID(digest: digest, base: 0).prefix] = try row.int("signing")
            return digest
        }
    }
}

extension FactID {
    /// The digests that begin with it.
    var least: [UInt8] { bytes + [UInt8](repeating: 0, count: 8) }
    var greatest: [UInt8] { bytes + [UInt8](repeating: 0xff, count: 8) }

    private var bytes: [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: prefix >> ($0 * 8)) } }
}

extension KnownFacts {
    /// A row of `fact`, with its other signatures in `again`.
    fileprivate mutating func note(_ row: PostgresRow, of key: PurchaseKey) throws {
        rows += 1
        guard let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int("kind"))) else { return }
        let fact = FactRow(
            kind: kind, signedDate: try row.int("signed_ms"), header: nil, signature: nil,
            payload: try FactCodec.restore(try row.bytes("payload")),
            again: try FactRow.dates(row.optionalText("again")),
            digest: try row.uuid("digest"))
        note(
            fact, NotificationOrigin(seq: try row.int("seq"), source: NotificationSource(code: try row.int("source"))),
            in: key.environment
        )
    }
}
