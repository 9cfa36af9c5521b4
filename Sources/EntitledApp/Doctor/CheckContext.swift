import Base
import Daemon
import Postgres
import Schemas

/// What the doctor's checks look at.
struct CheckContext: Sendable {
    let configuration: Configuration
    let database: DatabaseAccess
    let surroundings: ConfigurationContext
    let clock: any WallClock
    /// How long Apple's test notification may be on its way.
    let patience: Duration
    /// After it a transaction that a server of the cluster has prepared, and not ended, counts as left over.
    let longestCommit: Duration
    /// Says how far something long is, 0 to 1.
    let progress: @Sendable (Double, String) -> Void

    /// Of each statement: a check must not wait for locks of others, nor disturb workers.
    static let statementTimeout = Duration.seconds(5)

    /// A checked connection whose statements are bounded.
    func connect(_ role: DatabaseRole) throws -> PostgresConnection {
        let connection = try database.connect(role)
        _ = try connection.query(
            "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $1, false)",
            [.text("\(CheckContext.statementTimeout.milliseconds)ms")])
        return connection
    }
}
