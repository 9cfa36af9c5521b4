/// The migrations that this program carries, in their order.
package enum Schemas {
    package struct Migration: Sendable {
        /// Counts from 1, without gaps.
        package let version: Int
        package let name: String
        package let sql: String
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
        Migration(version: 5, name: "jobs", sql: String(decoding: PackageResources.v0005_jobs_sql, as: UTF8.self)),
        Migration(
            version: 6, name: "history", sql: String(decoding: PackageResources.v0006_history_sql, as: UTF8.self)),
    ]
}
