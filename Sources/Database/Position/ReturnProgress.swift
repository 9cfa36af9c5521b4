import Base
import Postgres

/// How far Apple's history is scanned after the database went back.
package struct ReturnProgress: Sendable, Equatable {
    /// The scan of an app and environment.
    package struct Scan: Sendable, Equatable {
        package enum State: Sendable, Equatable {
            case waiting
            /// So many notifications were read so far, and so many of them were not here.
            case running(read: Int64, missing: Int64)
            /// It is tried again.
            case failed(String)
            case done
        }

        package let place: AppScope
        package let state: State
    }

    package let pending: DatabaseReturn
    /// In the order of apps; those that were never scanned are not among them.
    package let scans: [Scan]

    private static let select = """
        SELECT app, environment, coalesce(whole_ms >= $1, false) AS is_done, error, cardinality(cursor) > 0 AS is_running,
            found, missed
        FROM entitled.history_look ORDER BY app, environment
        """

    /// Nil where the database did not go back, or all that is to be done about it is done, or the schema does not know.
    package static func read(on connection: PostgresConnection) throws -> ReturnProgress? {
        guard try PositionTable.isThere(on: connection),
            let pending = try PositionTable.read(on: connection).pending
        else { return nil }
        return ReturnProgress(
            pending: pending,
            scans: try connection.query(select, [.int8(pending.at)]).map { row in
                let state: Scan.State =
                    if try row.bool("is_done") {
                        .done
                    } else if let error = try row.optionalText("error") {
                        .failed(error)
                    } else if try row.bool("is_running") {
                        .running(read: try row.int("found"), missing: try row.int("missed"))
                    } else {
                        .waiting
                    }
                return Scan(place: try AppScope(row), state: state)
            })
    }

    /// What happened, after "the database".
    private var how: String {
        switch pending.reason {
        case .number: "went back to an earlier state"
        case .cluster: "is in another cluster than before"
        case .adopted: "was adopted by an operator"
        case .restored: "was made from a backup"
        case .timeline: "began a timeline, by a recovery or a promotion, and may have lost something"
        }
    }

    /// As a finding says it, beginning with "the database".
    package var text: String {
        let told = scans.map { scan in
            let state =
                switch scan.state {
                case .waiting: "waits"
                case .running(let read, let missing): "\(read) notifications read, \(missing) of them missing here"
                case .failed(let error): "failed, and is tried again: \(error)"
                case .done: "done"
                }
            return "\(scan.place.app) \(scan.place.environment.rawValue): \(state)"
        }
        return "the database \(how); noticed at \(Timestamp.text(pending.at)), and Apple's history is being scanned"
            + (told.isEmpty ? "" : " (\(told.joined(separator: "; ")))")
    }
}
