import Postgres

/// Goes through a table in the order of its blocks, a few at a time, again and again: finds what is old without an
/// index on time, which every insert would pay for.
struct BlockScan {
    private let table: String
    private var next: Int64 = 0
    private var nextPass = ContinuousClock.now

    /// Half a megabyte: some thousand rows.
    private static let step: Int64 = 64
    private static let passInterval = Duration.seconds(86400)

    init(_ table: String) {
        self.table = table
    }

    /// Blocks of the table, as the bounds of a scan by `ctid`.
    struct Blocks {
        let start: String
        let end: String
        /// Whether the pass ends with them.
        let isLast: Bool
    }

    /// - Returns: nil when the pass is over and it is too early for another.
    mutating func blocks(on connection: PostgresConnection) throws -> Blocks? {
        if next == 0, ContinuousClock.now < nextPass { return nil }
        let count = try connection.query(
            "SELECT pg_relation_size('entitled.\(table)') / current_setting('block_size')::int8 AS blocks"
        ).one().int("blocks")
        let start = next
        let isLast = start + BlockScan.step >= count
        if start == 0 { nextPass = ContinuousClock.now + BlockScan.passInterval }
        next = isLast ? 0 : start + BlockScan.step
        return Blocks(start: "(\(start),0)", end: "(\(start + BlockScan.step),0)", isLast: isLast)
    }

    /// Goes through a table once, as a pass does.
    static func pass(
        of table: String, on connection: PostgresConnection, _ body: (Blocks) throws -> Void
    ) throws {
        var walk = BlockScan(table)
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
