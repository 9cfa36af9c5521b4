import Base
import Postgres

/// The Postgres role of a process, with the least privileges that its work needs.
package enum DatabaseRole: String, Sendable, CaseIterable {
    case ingest = "entitled_ingest"
    case worker = "entitled_worker"
    case api = "entitled_api"
    case console = "entitled_console"

    /// The configuration key of the URL that this role connects with.
    package var configurationKey: String {
        switch self {
        case .ingest: "database.ingest_url"
        case .worker: "database.worker_url"
        case .api: "database.api_url"
        case .console: "database.console_url"
        }
    }

    /// The time after which a statement of a process is cancelled. A notification's commit must not keep Apple waiting.
    package var statementTimeout: String {
        switch self {
        case .ingest: "5s"
        case .worker: "60s"
        case .api: "30s"
        // A page that takes longer is not worth waiting for.
        case .console: "2s"
        }
    }

    /// The reason why a process may not work with this database. Waiting does not help.
    package enum Rejection: Error, Sendable, Equatable, CustomStringConvertible {
        case wrongRole(found: String, wanted: DatabaseRole)
        /// A pooler between process and server refuses connections that ask for a role.
        case roleNotTaken(wanted: DatabaseRole)
        case notMigrated
        case older(found: Int)
        case newer(found: Int)
        /// The tables of a cluster are not all where this program needs them.
        case misplaced

        package var description: String {
            switch self {
            case .wrongRole(let found, let wanted):
                "connected to Postgres as \(found) instead of \(wanted.rawValue): set \(wanted.configurationKey) to a URL "
                    + "that logs in as \(wanted.rawValue) (a pooler such as PgBouncer drops the requested role)"
            case .roleNotTaken(let wanted):
                "the connection was refused because it asks for the role \(wanted.rawValue): set "
                    + "\(wanted.configurationKey) to a URL that logs in as \(wanted.rawValue) (a pooler such as PgBouncer "
                    + "refuses connections with options)"
            case .notMigrated: "the database has no schema yet: run `entitled migrate`"
            case .older(let found):
                "the database has schema \(found), this program needs \(SchemaVersion.oldest): run `entitled migrate`"
            case .newer(let found):
                "the database has schema \(found), which is newer than this program's \(SchemaVersion.current) and does not "
                    + "work with it: install the version of entitled that migrated it"
            case .misplaced:
                "the tables of the cluster are not all where this program needs them: run `entitled migrate`"
            }
        }
    }

    /// Checks on a new connection that it has this role and that this program works with the database's schema.
    ///
    /// - Throws: `Rejection` or `PostgresError`.
    package func check(_ connection: PostgresConnection) throws {
        guard let found = try SchemaVersion.find(on: connection) else { throw Rejection.notMigrated }
        let user = try connection.currentUser()
        guard user == rawValue else { throw Rejection.wrongRole(found: user, wanted: self) }
        switch SchemaVersion.fit(found) {
        case .fits: break
        case .tooOld: throw Rejection.older(found: found.version)
        case .tooNew: throw Rejection.newer(found: found.version)
        }
        guard try !connection.isCluster || Distribution.isWhole(on: connection) else { throw Rejection.misplaced }
    }
}
