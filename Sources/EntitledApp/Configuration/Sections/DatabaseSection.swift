import Base
import Daemon

extension Configuration {
    /// Where Postgres is. Without any URL a private cluster in the state directory serves.
    package struct Database: Sendable {
        package enum Role: String, Sendable, CaseIterable {
            case ingest, worker, api, console
        }

        /// The owner's: `migrate` uses it, and every role without a URL of its own.
        package let url: Redacted<String>?
        package let ingestURL: Redacted<String>?
        package let workerURL: Redacted<String>?
        package let apiURL: Redacted<String>?
        package let consoleURL: Redacted<String>?
        /// Of a standby.
        package let apiReadURL: Redacted<String>?

        init(_ section: ConfigurationSection) {
            url = section.value(
                "url", .optional(.databaseURL), default: nil,
                example: #""postgres://entitled:secret@db.example.com/entitled""#, isSecret: true,
                "Connection to Postgres as the owner of the schema. Not set: `entitled run` starts a private cluster in state_dir."
            )
            ingestURL = section.value(
                "ingest_url", .optional(.databaseURL), default: nil,
                example: #""postgres://entitled_ingest:secret@db.example.com/entitled""#, isSecret: true,
                "Connection of ingest, which may only add notifications. Not set: database.url, and the role"
                    + " is set when connecting, which PgBouncer does not support, so behind it every process needs its own."
            )
            workerURL = section.value(
                "worker_url", .optional(.databaseURL), default: nil,
                example: #""postgres://entitled_worker:secret@db.example.com/entitled""#, isSecret: true,
                "The same for workers, which apply notifications and deliver webhooks.")
            apiURL = section.value(
                "api_url", .optional(.databaseURL), default: nil,
                example: #""postgres://entitled_api:secret@db.example.com/entitled""#, isSecret: true,
                "The same for the REST API.")
            consoleURL = section.value(
                "console_url", .optional(.databaseURL), default: nil,
                example: #""postgres://entitled_console:secret@db.example.com/entitled""#, isSecret: true,
                "The same for the console and the operator API, which read.")
            apiReadURL = section.value(
                "api_read_url", .optional(.databaseURL), default: nil,
                example: #""postgres://entitled_api:secret@standby.example.com/entitled""#, isSecret: true,
                "Connection of the REST API to a streaming standby of the same database, as entitled_api. It answers GET of"
                    + " customers by public keys while it is at most api.read_lag behind; the primary answers everything else."
            )
        }

        /// What the role connects with; nil means the private cluster.
        package func url(for role: Role) -> Redacted<String>? { ownURL(of: role) ?? url }

        /// The role's own, if it was given: then the role need not be taken after connecting.
        package func ownURL(of role: Role) -> Redacted<String>? {
            switch role {
            case .ingest: ingestURL
            case .worker: workerURL
            case .api: apiURL
            case .console: consoleURL
            }
        }

        /// Whether no URL at all was given.
        package var isPrivateCluster: Bool {
            url == nil && ingestURL == nil && workerURL == nil && apiURL == nil && consoleURL == nil
        }
    }
}
