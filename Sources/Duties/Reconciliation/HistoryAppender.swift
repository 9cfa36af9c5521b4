import Base
import Database
import Postgres

/// Appends what Apple's history held, or was diverted from the log, as the endpoint does with what Apple sends.
struct HistoryAppender {
    private let clock: any WallClock
    private var inserter: NotificationInserter

    init(clock: any WallClock) {
        self.clock = clock
        inserter = HistoryAppender.inserter(clock)
    }

    /// The new ones among these; what is known is left as it is. In a transaction; call `forget` if that fails.
    mutating func insert(
        _ notifications: [NewNotification], on connection: PostgresConnection
    ) throws -> [NewNotification] {
        guard !notifications.isEmpty else { return [] }
        let outcomes = try inserter.insert(notifications, on: connection)
        return zip(notifications, outcomes).filter { $1 == .accepted }.map(\.0)
    }

    /// Nothing of what was inserted may be there, and the numbers may be taken.
    mutating func forget() {
        inserter = HistoryAppender.inserter(clock)
    }

    private static func inserter(_ clock: any WallClock) -> NotificationInserter {
        NotificationInserter(
            sequence: SequenceGenerator(clock: clock, node: .random(in: 0...UInt16.max)), clock: clock)
    }
}
