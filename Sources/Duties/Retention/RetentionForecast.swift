import Base
import Database
import Postgres

/// What the next run of retention would delete, found by the conditions of the run itself; only read.
///
/// It reads large tables as a whole, some blocks or one day with each statement, so that it holds no lock and no snapshot
/// for longer than one of them takes.
package struct RetentionForecast: Sendable {
    /// What becomes of rows.
    package enum Effect: String, Sendable {
        case dropped, deleted, emptied
    }

    /// Rows of one table, or of one day of it, that would go.
    package struct Entry: Sendable, Equatable {
        package let table: String
        package let effect: Effect
        package let rows: Int64
        /// Of the rows; of a day on disk, with its indexes.
        package let bytes: Int64
        /// The oldest of them; ms. Nil: there are none, or rows do not say when they were made.
        package let oldest: Int64?
        /// What is older goes; ms.
        package let before: Int64
        /// Days that should go and stay, by what keeps them.
        package var kept: [String: Int] = [:]
    }

    package let now: Int64
    package let entries: [Entry]

    /// - Parameter now: ms, by this host; the server's time counts where it is earlier.
    package static func make(
        _ times: RetentionTimes, now: Int64, on connection: PostgresConnection
    ) throws -> RetentionForecast {
        let now = min(now, try connection.serverTime())
        let (notifications, first) = try days(.notifications, times, now, on: connection)
        let (attempts, firstAttempts) = try days(.attempts, times, now, on: connection)
        var entries = [notifications, attempts]
        entries.append(try KeyCleaner.forecast(before: first, on: connection))
        entries += try EventCleaner.forecast(before: times.eventLimit(now), on: connection)
        entries.append(try NotificationDeliveryCleaner.forecast(before: first, on: connection))
        if let limit = times.emptyCustomers.map({ now - $0.milliseconds }) {
            entries += try EmptyCustomerCleaner.forecast(before: limit, on: connection)
        }
        entries += try FinishedWorkCleaner.forecast(before: times.finishedWorkLimit(now), on: connection)
        entries.append(try SenderCleaner.forecast(before: times.senderLimit(firstAttempts), on: connection))
        entries.append(try RemovedEndpointCleaner.forecast(before: times.endpointLimit(now), on: connection))
        entries += try ConsoleCleaner.forecast(times.consoleLimits(now), on: connection)
        return RetentionForecast(now: now, entries: entries)
    }

    /// The days that would be dropped, and the first day of which something would be left.
    private static func days(
        _ table: DayPartitions, _ times: RetentionTimes, _ now: Int64, on connection: PostgresConnection
    ) throws -> (entry: Entry, first: Day) {
        let first = times.firstDay(of: table, now: now)
        let partitions = try table.partitions(on: connection)
        var tally = Tally()
        var kept: [String: Int] = [:]
        var left = partitions.filter { $0.day >= first }.map(\.day)
        for partition in partitions where partition.day < first {
            if let need = try table.need(of: partition.day, on: connection) {
                kept[need.rawValue, default: 0] += 1
                left.append(partition.day)
                continue
            }
            tally.add(
                rows: try table.rows(of: partition.day, on: connection), bytes: partition.bytes,
                oldest: partition.day.start)
        }
        left += try table.strays(on: connection).keys
        return (
            tally.entry(table.rawValue, .dropped, before: first.start, kept: kept), left.reduce(first, min)
        )
    }

    /// Rows that were found so far.
    struct Tally {
        private var rows: Int64 = 0
        private var bytes: Int64 = 0
        private var oldest: Int64?

        mutating func add(rows: Int64, bytes: Int64, oldest: Int64?) {
            self.rows += rows
            self.bytes += bytes
            if let oldest { self.oldest = min(self.oldest ?? oldest, oldest) }
        }

        /// Adds the answer of a statement: `count` of rows, their `bytes`, the instant of the oldest, `oldest_ms`.
        mutating func add(_ answer: PostgresRows) throws {
            let row = try answer.one()
            add(rows: try row.int("count"), bytes: try row.int("bytes"), oldest: try row.optionalInt("oldest_ms"))
        }

        func entry(
            _ table: String, _ effect: Effect = .deleted, before: Int64, kept: [String: Int] = [:]
        ) -> Entry {
            Entry(
                table: table, effect: effect, rows: rows, bytes: bytes, oldest: oldest, before: before, kept: kept)
        }
    }
}
