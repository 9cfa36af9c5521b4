import Base
import Postgres

/// Pages of the deliveries that fit conditions, in the order in which they were made.
extension DeliveryBulk {
    private static let part = """
        WITH part AS MATERIALIZED (
            SELECT * FROM entitled.delivery
            WHERE created_ms >= $9 AND created_ms < $8 AND (created_ms, lane, id) > ($9, $10::int2, $11::uuid)
            ORDER BY created_ms, lane, id LIMIT $12
        ),
        last AS (SELECT created_ms, lane, id FROM part ORDER BY created_ms DESC, lane DESC, id DESC LIMIT 1)
        SELECT \(columns), coalesce((\(conditions)), false) AS is_meant, (SELECT count(*) FROM part) AS scanned
        FROM part d
        WHERE (\(conditions)) OR (d.created_ms, d.lane, d.id) IN (SELECT created_ms, lane, id FROM last)
        ORDER BY d.created_ms, d.lane, d.id LIMIT $13
        """

    func pageOfScan(
        after position: [String], _ limit: Int, _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let first = try position.isEmpty ? start(on: connection) : nil
        guard let start = first ?? Position(words: position) else {
            return BulkPage(rows: [], end: position, isLast: true, fraction: 1)
        }
        // A limit makes the planner hope for early hits in the whole table.
        _ = try connection.query("SELECT set_config('enable_seqscan', 'off', true)")
        if connection.isCluster { return try pageOfPlaces(after: start, limit, endpoints, on: connection) }
        let found = try connection.query(
            DeliveryBulk.part,
            parameters + [
                .int8(start.time), .int2(start.lane), .uuid(start.id), .int8(Int64(DeliveryBulk.scanned)),
                .int8(Int64(limit + 1)),
            ]
        ).map { $0 }
        guard let last = found.last else {
            return BulkPage(rows: [], end: start.words, isLast: true, fraction: 1)
        }
        let isCut = found.count > limit
        let isLast = try !isCut && last.int("scanned") < Int64(DeliveryBulk.scanned)
        let taken = isCut ? Array(found.dropLast()) : found
        let end = try taken.last.map { try Position($0, from: start.from) } ?? start
        return BulkPage(
            rows: try read(try taken.filter { try $0.bool("is_meant") }, endpoints, on: connection), end: end.words,
            isLast: isLast, fraction: isLast ? 1 : end.fraction(until: selection.until))
    }

    private static let places = """
        SELECT created_ms, lane, id FROM entitled.delivery
        WHERE created_ms >= $1 AND created_ms < $4 AND (created_ms, lane, id) > ($1, $2::int2, $3::uuid)
        ORDER BY created_ms, lane, id LIMIT $5
        """

    /// The same on a cluster: all shards are asked where deliveries are, and each for its own ones of these.
    private func pageOfPlaces(
        after start: Position, _ limit: Int, _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let places = try connection.query(
            DeliveryBulk.places,
            [
                .int8(start.time), .int2(start.lane), .uuid(start.id), .int8(selection.until),
                .int8(Int64(DeliveryBulk.scanned)),
            ]
        ).map { try Position($0, from: start.from) }
        var (found, end) = ([Row](), start)
        var rest = places[...]
        while !rest.isEmpty, found.count < limit {
            let part = rest.prefix(limit - found.count)
            found += try rows(
                part.map { DeliveryID(lane: Lane(number: $0.lane), bytes: $0.id) }, endpoints, on: connection)
            end = part.last ?? end
            rest = rest.dropFirst(part.count)
        }
        let isLast = rest.isEmpty && places.count < DeliveryBulk.scanned
        return BulkPage(
            rows: found, end: end.words, isLast: isLast, fraction: isLast ? 1 : end.fraction(until: selection.until))
    }

    /// Nil: there is no delivery.
    private func start(on connection: PostgresConnection) throws -> Position? {
        let least = max(0, selection.since ?? 0)
        let oldest = try connection.query(
            "SELECT min(created_ms) AS oldest FROM entitled.delivery WHERE created_ms >= $1", [.int8(least)]
        ).one().optionalInt("oldest")
        return oldest.map { Position(from: $0, time: $0, lane: -1, id: [UInt8](repeating: 0, count: 16)) }
    }

    /// A place in the order in which deliveries were made, and where it began.
    struct Position {
        let from: Int64
        let time: Int64
        let lane: Int16
        let id: [UInt8]

        init(from: Int64, time: Int64, lane: Int16, id: [UInt8]) {
            (self.from, self.time, self.lane, self.id) = (from, time, lane, id)
        }

        init(_ row: PostgresRow, from: Int64) throws {
            self.init(
                from: from, time: try row.int("created_ms"), lane: Int16(clamping: try row.int("lane")),
                id: try row.uuid("id"))
        }

        init?(words: [String]) {
            guard words.count == 4, let from = Int64(words[0]), let time = Int64(words[1]), let lane = Int16(words[2]),
                let id = Hex.decode(words[3]), id.count == 16
            else { return nil }
            self.init(from: from, time: time, lane: lane, id: id)
        }

        var words: [String] { [String(from), String(time), String(lane), Hex.encode(id)] }

        func fraction(until end: Int64) -> Double {
            min(1, max(0, Double(time - from) / Double(max(1, end - from))))
        }
    }
}
