import Base
import Database
import Postgres

/// A place in the order in which rows were made: after everything that is less.
struct ScanCursor: Equatable {
    /// Milliseconds.
    let time: Int64
    /// -1: before every row of that time.
    let lane: Int16
    let id: [UInt8]

    static func start(of time: Int64) -> ScanCursor {
        ScanCursor(time: time, lane: -1, id: [UInt8](repeating: 0, count: 16))
    }

    var words: [String] { [String(time), String(lane), Hex.encode(id)] }

    init(time: Int64, lane: Int16, id: [UInt8]) {
        self.time = time
        self.lane = lane
        self.id = id
    }

    /// Nil for words that are none.
    init?(words: ArraySlice<String>) {
        let words = Array(words)
        guard words.count == 3, let time = Int64(words[0]), let lane = Int16(words[1]), let id = Hex.decode(words[2]),
            id.count == 16
        else { return nil }
        self.init(time: time, lane: lane, id: id)
    }

    func isBefore(_ other: ScanCursor) -> Bool {
        (time, lane) == (other.time, other.lane)
            ? id.lexicographicallyPrecedes(other.id) : (time, lane) < (other.time, other.lane)
    }
}

/// Some rows in their order, and where to go on behind them.
struct ScanPage<Row> {
    let rows: [(row: Row, position: ScanCursor)]
    let end: ScanCursor
    let isLast: Bool
}
