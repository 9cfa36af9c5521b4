import Base
import Postgres

/// The place of an entry in the log: `seq` orders the entries of one lane.
package struct LogPosition: Hashable, Sendable {
    package let lane: Lane
    package let seq: Int64

    package init(lane: Lane, seq: Int64) {
        self.lane = lane
        self.seq = seq
    }

    /// Reads the columns `lane` and `seq`.
    package init(_ row: PostgresRow) throws {
        self.init(lane: try row.value("lane"), seq: try row.int("seq"))
    }
}
