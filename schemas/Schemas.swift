import Base

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
            version: 1, name: "initial", sql: EmbeddedFile.text("v0001_initial.sql")),
        Migration(
            version: 2, name: "actions", sql: EmbeddedFile.text("v0002_actions.sql")),
        Migration(
            version: 3, name: "retention", sql: EmbeddedFile.text("v0003_retention.sql")),
        Migration(
            version: 4, name: "held_retries",
            sql: EmbeddedFile.text("v0004_held_retries.sql")),
        Migration(
            version: 5, name: "attempt_log",
            sql: EmbeddedFile.text("v0005_attempt_log.sql")),
        Migration(
            version: 6, name: "order", sql: EmbeddedFile.text("v0006_order.sql")),
        Migration(version: 7, name: "jobs", sql: EmbeddedFile.text("v0007_jobs.sql")),
        Migration(
            version: 8, name: "endpoint_settings",
            sql: EmbeddedFile.text("v0008_endpoint_settings.sql")),
        Migration(
            version: 9, name: "health", sql: EmbeddedFile.text("v0009_health.sql")),
        Migration(
            version: 10, name: "refunds", sql: EmbeddedFile.text("v0010_refunds.sql")),
        Migration(
            version: 11, name: "history", sql: EmbeddedFile.text("v0011_history.sql")),
        Migration(
            version: 12, name: "status", sql: EmbeddedFile.text("v0012_status.sql")),
        Migration(
            version: 13, name: "rest", sql: EmbeddedFile.text("v0013_rest.sql")),
        Migration(
            version: 14, name: "grants", sql: EmbeddedFile.text("v0014_grants.sql")),
        Migration(version: 15, name: "keys", sql: EmbeddedFile.text("v0015_keys.sql")),
        Migration(
            version: 16, name: "snapshots",
            sql: EmbeddedFile.text("v0016_snapshots.sql")),
        Migration(
            version: 17, name: "privacy", sql: EmbeddedFile.text("v0017_privacy.sql")),
        Migration(
            version: 18, name: "posted", sql: EmbeddedFile.text("v0018_posted.sql")),
        Migration(
            version: 19, name: "identities",
            sql: EmbeddedFile.text("v0019_identities.sql")),
        Migration(
            version: 20, name: "last_seen",
            sql: EmbeddedFile.text("v0020_last_seen.sql")),
        Migration(
            version: 21, name: "owners", sql: EmbeddedFile.text("v0021_owners.sql")),
        Migration(
            version: 22, name: "folded", sql: EmbeddedFile.text("v0022_folded.sql")),
        Migration(
            version: 23, name: "privileges",
            sql: EmbeddedFile.text("v0023_privileges.sql")),
        Migration(
            version: 24, name: "entropy_tables",
            sql: EmbeddedFile.text("v0024_entropy_tables.sql")),
        Migration(
            version: 25, name: "comments", sql: EmbeddedFile.text("v0025_comments.sql")),
        Migration(
            version: 26, name: "fleets", sql: EmbeddedFile.text("v0026_fleets.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 27, name: "endpoint_content",
            sql: EmbeddedFile.text("v0027_endpoint_content.sql"), oldestProgram: 26,
            isNeeded: false),
        Migration(
            version: 28, name: "growth", sql: EmbeddedFile.text("v0028_growth.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 29, name: "account_looks",
            sql: EmbeddedFile.text("v0029_account_looks.sql"), oldestProgram: 26,
            isNeeded: false),
        Migration(
            version: 30, name: "console", sql: EmbeddedFile.text("v0030_console.sql"),
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
            sql: EmbeddedFile.text("v0031_console_sessions.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 32, name: "journal", sql: EmbeddedFile.text("v0032_journal.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 33, name: "position", sql: EmbeddedFile.text("v0033_position.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 34, name: "changes", sql: EmbeddedFile.text("v0034_changes.sql"),
            oldestProgram: 26, isNeeded: false,
            steps: [
                // Finds the change that an operator asked for under the same key.
                .index(
                    name: "job_change",
                    definition: "ON entitled.job (made_by, idempotency_key) WHERE idempotency_key IS NOT NULL")
            ]),
        Migration(
            version: 35, name: "reports", sql: EmbeddedFile.text("v0035_reports.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 36, name: "guards", sql: EmbeddedFile.text("v0036_guards.sql"),
            oldestProgram: 26, isNeeded: false,
            // A step that cannot fail, whatever rows there are; databases that ran it before have the index on the whole target.
            steps: [jobTarget]),
        Migration(
            version: 37, name: "targets", sql: EmbeddedFile.text("v0037_targets.sql"),
            oldestProgram: 26, isNeeded: false, steps: [jobTarget]),
        Migration(
            version: 38, name: "histories", sql: EmbeddedFile.text("v0038_histories.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 39, name: "processes", sql: EmbeddedFile.text("v0039_processes.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 40, name: "bulk", sql: EmbeddedFile.text("v0040_bulk.sql"),
            oldestProgram: 26, isNeeded: false,
            steps: [
                // Counts what became of the deliveries of a job.
                .index(name: "delivery_job", definition: "ON entitled.delivery (job, state) WHERE job IS NOT NULL")
            ]),
        Migration(
            version: 41, name: "attribute_values", sql: EmbeddedFile.text("v0041_attribute_values.sql"),
            oldestProgram: 26, isNeeded: false,
            steps: [
                // Finds customers by what an app said of them; values themselves are not in it.
                .index(
                    name: "customer_attribute_value",
                    definition:
                        "ON entitled.customer_attribute (hashtextextended(lower(value COLLATE \"C\"), 0)) WHERE value IS NOT NULL"
                )
            ]),
        Migration(
            version: 42, name: "notes", sql: EmbeddedFile.text("v0042_notes.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 43, name: "operator_changes", sql: EmbeddedFile.text("v0043_operator_changes.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 44, name: "statistics", sql: EmbeddedFile.text("v0044_statistics.sql"),
            oldestProgram: 26, isNeeded: false,
            steps: [
                .analysis(name: "event_analyzed", table: "event"),
                .analysis(name: "customer_attribute_analyzed", table: "customer_attribute"),
            ]),
        Migration(
            version: 45, name: "endpoint_changes", sql: EmbeddedFile.text("v0045_endpoint_changes.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 46, name: "change_kinds", sql: EmbeddedFile.text("v0046_change_kinds.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 47, name: "diversion", sql: EmbeddedFile.text("v0047_diversion.sql"),
            oldestProgram: 26, isNeeded: false),
        Migration(
            version: 48, name: "purchase_lanes", sql: EmbeddedFile.text("v0048_purchase_lanes.sql"),
            oldestProgram: 26, isNeeded: false),
    ]

    /// Finds the changes of one target that are not done yet.
    private static let jobTarget = OnlineStep.index(
        name: "job_target",
        definition: "ON entitled.job (left(target, 256), id) WHERE state = 'running' AND idempotency_key IS NOT NULL")
}
