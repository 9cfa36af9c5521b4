/// The migrations that this program carries, in their order.
package enum Schemas {
    package struct Migration: Sendable {
        /// Counts from 1, without gaps.
        package let version: Int
        package let name: String
        package let sql: String
        /// The schema of the oldest program that works with this version. Nil: none but a program of this schema.
        ///
        /// A migration that only adds keeps that of the one before it; one that removes or changes names the first schema
        /// whose programs do without what it removes.
        package let oldestProgram: Int?
        /// Whether this program works only where the migration was run. False while the program can do without.
        package let isNeeded: Bool
        /// What is done after the transaction, while the processes work; the next migration waits for it.
        package let steps: [OnlineStep]

        package init(
            version: Int, name: String, sql: String, oldestProgram: Int? = nil, isNeeded: Bool = true,
            steps: [OnlineStep] = []
        ) {
            self.version = version
            self.name = name
            self.sql = sql
            self.oldestProgram = oldestProgram
            self.isNeeded = isNeeded
            self.steps = steps
        }
    }

    package static let migrations = [
        Migration(
            version: 1, name: "initial", sql: String(decoding: PackageResources.v0001_initial_sql, as: UTF8.self)),
        Migration(
            version: 2, name: "actions", sql: String(decoding: PackageResources.v0002_actions_sql, as: UTF8.self)),
        Migration(
            version: 3, name: "retention", sql: String(decoding: PackageResources.v0003_retention_sql, as: UTF8.self)),
        Migration(
            version: 4, name: "held_retries",
            sql: String(decoding: PackageResources.v0004_held_retries_sql, as: UTF8.self)),
        Migration(
            version: 5, name: "attempt_log",
            sql: String(decoding: PackageResources.v0005_attempt_log_sql, as: UTF8.self)),
        Migration(
            version: 6, name: "order", sql: String(decoding: PackageResources.v0006_order_sql, as: UTF8.self)),
        Migration(version: 7, name: "jobs", sql: String(decoding: PackageResources.v0007_jobs_sql, as: UTF8.self)),
        Migration(
            version: 8, name: "endpoint_settings",
            sql: String(decoding: PackageResources.v0008_endpoint_settings_sql, as: UTF8.self)),
        Migration(
            version: 9, name: "health", sql: String(decoding: PackageResources.v0009_health_sql, as: UTF8.self)),
        Migration(
            version: 10, name: "refunds", sql: String(decoding: PackageResources.v0010_refunds_sql, as: UTF8.self)),
        Migration(
            version: 11, name: "history", sql: String(decoding: PackageResources.v0011_history_sql, as: UTF8.self)),
        Migration(
            version: 12, name: "status", sql: String(decoding: PackageResources.v0012_status_sql, as: UTF8.self)),
        Migration(
            version: 13, name: "rest", sql: String(decoding: PackageResources.v0013_rest_sql, as: UTF8.self)),
        Migration(
            version: 14, name: "grants", sql: String(decoding: PackageResources.v0014_grants_sql, as: UTF8.self)),
        Migration(version: 15, name: "keys", sql: String(decoding: PackageResources.v0015_keys_sql, as: UTF8.self)),
        Migration(
            version: 16, name: "snapshots",
            sql: String(decoding: PackageResources.v0016_snapshots_sql, as: UTF8.self)),
        Migration(
            version: 17, name: "privacy", sql: String(decoding: PackageResources.v0017_privacy_sql, as: UTF8.self)),
        Migration(
            version: 18, name: "posted", sql: String(decoding: PackageResources.v0018_posted_sql, as: UTF8.self)),
        Migration(
            version: 19, name: "identities",
            sql: String(decoding: PackageResources.v0019_identities_sql, as: UTF8.self)),
        Migration(
            version: 20, name: "last_seen",
            sql: String(decoding: PackageResources.v0020_last_seen_sql, as: UTF8.self)),
        Migration(
            version: 21, name: "owners", sql: String(decoding: PackageResources.v0021_owners_sql, as: UTF8.self)),
        Migration(
            version: 22, name: "folded", sql: String(decoding: PackageResources.v0022_folded_sql, as: UTF8.self)),
        Migration(
            version: 23, name: "privileges",
            sql: String(decoding: PackageResources.v0023_privileges_sql, as: UTF8.self)),
        Migration(
            version: 24, name: "entropy_tables",
            sql: String(decoding: PackageResources.v0024_entropy_tables_sql, as: UTF8.self)),
        Migration(
            version: 25, name: "comments", sql: String(decoding: PackageResources.v0025_comments_sql, as: UTF8.self)),
        Migration(
            version: 26, name: "fleets", sql: String(decoding: PackageResources.v0026_fleets_sql, as: UTF8.self),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 27, name: "endpoint_content",
            sql: String(decoding: PackageResources.v0027_endpoint_content_sql, as: UTF8.self), oldestProgram: 26,
            isNeeded: false),
        Migration(
            version: 28, name: "growth", sql: String(decoding: PackageResources.v0028_growth_sql, as: UTF8.self),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 29, name: "account_looks",
            sql: String(decoding: PackageResources.v0029_account_looks_sql, as: UTF8.self), oldestProgram: 26,
            isNeeded: false),
        Migration(
            version: 30, name: "console", sql: String(decoding: PackageResources.v0030_console_sql, as: UTF8.self),
            oldestProgram: 26, isNeeded: false,
            steps: [
                // Finds the newest customers by the blocks of a time: rows come nearly in that order.
                .index(
                    name: "customer_first_seen",
                    definition: "ON entitled.customer USING brin (first_seen_ms int8_minmax_multi_ops) "
                        + "WITH (autosummarize = on)")
            ]),
        Migration(
            version: 31, name: "console_sessions",
            sql: String(decoding: PackageResources.v0031_console_sessions_sql, as: UTF8.self),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 32, name: "journal", sql: String(decoding: PackageResources.v0032_journal_sql, as: UTF8.self),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 33, name: "position", sql: String(decoding: PackageResources.v0033_position_sql, as: UTF8.self),
            oldestProgram: 26, isNeeded: false),
    ]
}
