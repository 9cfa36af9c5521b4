import Base
import Postgres
import Synchronization

/// Which lanes lie together, so that one transaction may change all of them on one server.
///
/// On one Postgres that is every lane. Where tables are distributed by `lane` over several servers (Citus), the lanes of one
/// shard are a group: a transaction that stays within a group is committed by one server, and a server that is away stops the
/// groups that it holds and no others.
package struct LaneGroups: Sendable {
    /// The group of each lane, by the lane's number.
    private let numbers: [Int]
    /// How many groups there are; they are numbered from 0.
    package let count: Int
    /// The server of each group, as far as it is known: groups move.
    private let servers: [Int64?]

    /// One Postgres.
    package static let one = LaneGroups(numbers: Lane.all.map { _ in 0 }, count: 1)

    private init(numbers: [Int], count: Int, servers: [Int64?] = [nil]) {
        self.numbers = numbers
        self.count = count
        self.servers = servers
    }

    /// - Parameters:
    ///   - shards: the shard in which each lane lies; groups have the order of their shards. Nil where a lane has none.
    ///   - servers: those that have the shards, as far as they are known.
    package init?(shards: [Lane: Int64], servers: [Int64: Int64] = [:]) {
        let order = Set(shards.values).sorted()
        let places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($0.element, $0.offset) })
        let numbers = Lane.all.compactMap { lane in shards[lane].flatMap { places[$0] } }
        guard numbers.count == Lane.count else { return nil }
        self.init(numbers: numbers, count: order.count, servers: order.map { servers[$0] })
    }

    /// Whether all lanes lie together.
    package var isOne: Bool { count == 1 }

    /// The number of the lane's group.
    package func group(of lane: Lane) -> Int {
        let place = Int(lane.number)
        return numbers.indices.contains(place) ? numbers[place] : 0
    }

    /// The groups that lie on the same server as this one, which is one of them.
    package func neighbours(of group: Int) -> [Int] {
        guard servers.indices.contains(group), let server = servers[group] else { return [group] }
        return servers.indices.filter { servers[$0] == server }
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

/// Groups are the same wherever they lie.
extension LaneGroups: Equatable {
    package static func == (one: LaneGroups, other: LaneGroups) -> Bool { one.numbers == other.numbers }
}

extension LaneGroups {
    /// The groups of the database: one, unless it is the coordinator of a cluster over whose shards the lanes are distributed.
    ///
    /// - Throws: `PostgresError`, also where the cluster knows no shard for a lane.
    package static func read(on connection: PostgresConnection) throws -> LaneGroups {
        try connection.findShards(of: "entitled.lane", count: Lane.count)
        return connection.laneGroups
    }

    private static let last = Mutex<(shards: [Int64], servers: [Int64: Int64], groups: LaneGroups)>(([], [:], .one))

    /// The groups of lanes that lie in these shards, which are asked for with most statements and rarely change.
    fileprivate static func known(_ shards: [Int64], _ servers: [Int64: Int64]) -> LaneGroups {
        last.withLock { last in
            if last.shards != shards || last.servers != servers {
                let lanes = Dictionary(uniqueKeysWithValues: zip(Lane.all, shards))
                last = (shards, servers, LaneGroups(shards: lanes, servers: servers) ?? .one)
            }
            return last.groups
        }
    }

    /// What a function returns for these in their order, asked for those of each group together.
    package func map<Element, Result>(
        _ elements: [Element], by lane: (Element) -> Lane, _ body: ([Element]) throws -> [Result]
    ) rethrows -> [Result] {
        guard !isOne else { return try body(elements) }
        var results: [(place: Int, result: Result)] = []
        for part in split(Array(elements.indices), by: { lane(elements[$0]) }) {
            results += zip(part.elements, try body(part.elements.map { elements[$0] })).map { (place: $0, result: $1) }
        }
        return results.sorted { $0.place < $1.place }.map(\.result)
    }
}

extension PostgresConnection {
    /// Which lanes lie together in the database of this connection, as it was when it was opened.
    package var laneGroups: LaneGroups {
        isCluster ? LaneGroups.known(shards, servers) : .one
    }
}
