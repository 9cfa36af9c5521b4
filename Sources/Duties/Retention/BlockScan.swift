import Database
import Postgres

/// Goes through a table in the order of its blocks, a few at a time, again and again: finds what is old without an
/// index on time, which every insert would pay for. On a cluster, where each group of lanes has blocks of its own, group by group.
struct BlockScan {
    private let table: String
    /// Whether the table is distributed by lanes on a cluster.
    private let isOfLanes: Bool
    private var group = 0
    private var next: Int64 = 0
    private var nextPass = ContinuousClock.now

    /// Half a megabyte: some thousand rows.
    private static let step: Int64 = 64
    private static let passInterval = Duration.seconds(86400)

    init(_ table: String, isOfLanes: Bool) {
        (self.table, self.isOfLanes) = (table, isOfLanes)
    }

    /// Blocks of the table, as the bounds of a scan by `ctid`.
    struct Blocks {
        let start: String
        let end: String
        /// Whose blocks they are, on a cluster; nil: everything is in the same blocks.
        let lanes: [Lane]?
        /// Whether the pass ends with them.
        let isLast: Bool

        /// Behind the other parameters of a statement, which names these lanes on a cluster.
        var values: [PostgresValue] { lanes.map { [.int2s($0.map(\.number))] } ?? [] }
    }

    /// - Returns: nil when the pass is over and it is too early for another.
    mutating func blocks(on connection: PostgresConnection) throws -> Blocks? {
        let isFirst = group == 0 && next == 0
        if isFirst, ContinuousClock.now < nextPass { return nil }
        let groups = isOfLanes && connection.isCluster ? connection.laneGroups.split(Lane.all).map(\.elements) : []
        let lanes = groups.isEmpty ? nil : groups[min(group, groups.count - 1)]
        let count = try size(of: lanes, on: connection)
        let start = next
        let isEnd = start + BlockScan.step >= count
        let isLast = isEnd && group + 1 >= groups.count
        if isFirst { nextPass = ContinuousClock.now + BlockScan.passInterval }
        next = isEnd ? 0 : start + BlockScan.step
        if isEnd { group = isLast ? 0 : group + 1 }
        return Blocks(start: "(\(start),0)", end: "(\(start + BlockScan.step),0)", lanes: lanes, isLast: isLast)
    }

    /// In blocks. On a cluster, the table with these rows is another one than the coordinator's, which is empty.
    private func size(of lanes: [Lane]?, on connection: PostgresConnection) throws -> Int64 {
        let blocks = "current_setting('block_size')::int8 AS blocks"
        guard connection.isCluster else {
            return try connection.query("SELECT pg_relation_size('entitled.\(table)') / \(blocks)").one().int("blocks")
        }
        let condition = lanes == nil ? "" : "WHERE t.lane = ANY($1::int2[])"
        return try connection.query(
            "SELECT pg_relation_size(t.tableoid) / \(blocks) FROM entitled.\(table) t \(condition) LIMIT 1",
            lanes.map { [.int2s($0.map(\.number))] } ?? []
        ).first?.int("blocks") ?? 0
    }

    /// Goes through a table once, as a pass does.
    static func pass(
        of table: String, isOfLanes: Bool, on connection: PostgresConnection, _ body: (Blocks) throws -> Void
    ) throws {
        var walk = BlockScan(table, isOfLanes: isOfLanes)
        while let blocks = try walk.blocks(on: connection) {
            try body(blocks)
            if blocks.isLast { return }
        }
    }

    /// The next pass begins at once.
    mutating func hurry() {
        nextPass = ContinuousClock.now
    }
}
