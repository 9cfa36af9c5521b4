import Base
import Postgres

/// Which lanes lie together, so that one transaction may change all of them on one server.
///
/// On one Postgres that is every lane. Where tables are distributed by `lane` over several servers (Citus), the lanes of one
/// shard are a group: a transaction that stays within a group is committed by one server, and a server that is away stops the
/// groups that it holds and no others.
package struct LaneGroups: Sendable, Equatable {
    /// The group of each lane, by the lane's number.
    private let numbers: [Int]
    /// How many groups there are; they are numbered from 0.
    package let count: Int

    /// One Postgres.
    package static let one = LaneGroups(numbers: Lane.all.map { _ in 0 }, count: 1)

    private init(numbers: [Int], count: Int) {
        self.numbers = numbers
        self.count = count
    }

    /// - Parameter shards: the shard in which each lane lies; groups have the order of their shards. Nil where a lane has none.
    package init?(shards: [Lane: Int64]) {
        let places = Dictionary(
            uniqueKeysWithValues: Set(shards.values).sorted().enumerated().map { ($0.element, $0.offset) })
        let numbers = Lane.all.compactMap { lane in shards[lane].flatMap { places[$0] } }
        guard numbers.count == Lane.count else { return nil }
        self.init(numbers: numbers, count: Set(numbers).count)
    }

    /// Whether all lanes lie together.
    package var isOne: Bool { count == 1 }

    /// The number of the lane's group.
    package func group(of lane: Lane) -> Int {
        let place = Int(lane.number)
        return numbers.indices.contains(place) ? numbers[place] : 0
    }

    /// Those of these elements that lie together.
    package struct Part<Element> {
        /// The number of their group.
        package let group: Int
        /// In the order in which they were given.
        package let elements: [Element]
    }

    /// The elements by their groups, in the order of the groups; a group of which there is none is left out.
    package func split<Element>(_ elements: [Element], by lane: (Element) -> Lane) -> [Part<Element>] {
        guard !elements.isEmpty else { return [] }
        guard !isOne else { return [Part(group: 0, elements: elements)] }
        return Dictionary(grouping: elements) { group(of: lane($0)) }.sorted { $0.key < $1.key }
            .map { Part(group: $0.key, elements: $0.value) }
    }

    package func split(_ lanes: [Lane]) -> [Part<Lane>] { split(lanes) { $0 } }

    /// The lanes in the order of their groups, so that the first and the last ones lie together as far as possible.
    package func together(_ lanes: [Lane]) -> [Lane] { split(lanes).flatMap(\.elements) }
}

extension LaneGroups.Part: Sendable where Element: Sendable {}

extension LaneGroups {
    private static let cluster = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_cluster"

    private static let distribution = """
        SELECT EXISTS (
            SELECT 1 FROM pg_catalog.pg_dist_partition
            WHERE logicalrelid = to_regclass('entitled.lane') AND partmethod = 'h'
        ) AS is_distributed
        """

    private static let shards = """
        SELECT lane::int8 AS lane,
            pg_catalog.get_shard_id_for_distribution_column('entitled.lane'::regclass, lane::int2)::int8 AS shard
        FROM generate_series(0, $1::int4 - 1) AS lane
        """

    /// The groups of the database: one, unless it is the coordinator of a cluster over whose shards the lanes are distributed.
    ///
    /// - Throws: `PostgresError`, also where the cluster knows no shard for a lane.
    package static func read(on connection: PostgresConnection) throws -> LaneGroups {
        guard try connection.query(cluster).one().bool("is_cluster"),
            try connection.query(distribution).one().bool("is_distributed")
        else { return .one }
        var found: [Lane: Int64] = [:]
        for row in try connection.query(shards, [.int4(Int32(Lane.count))]) {
            found[try row.value("lane")] = try row.int("shard")
        }
        guard let groups = LaneGroups(shards: found) else {
            throw PostgresError(.configuration, "the cluster has no shard for some lane")
        }
        return groups
    }
}
