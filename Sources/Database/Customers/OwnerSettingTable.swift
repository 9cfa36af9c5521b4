import Base
import Postgres
import Subscriptions

/// What the configuration said of owners, and since when, in the database.
package enum OwnerSettingTable {
    /// What a configuration says of one app and environment.
    package struct Current: Sendable, Equatable {
        package let place: AppScope
        package let behavior: RestoreBehavior
        package let usesTokens: Bool

        package init(place: AppScope, behavior: RestoreBehavior, usesTokens: Bool) {
            self.place = place
            self.behavior = behavior
            self.usesTokens = usesTokens
        }
    }

    private static let insert = """
        INSERT INTO entitled.owner_setting (app, environment, since_ms, restore_behavior, uses_tokens)
        SELECT t.app, t.environment, (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8, t.behavior, t.uses
        FROM unnest($1::text[], $2::int2[], $3::text[], $4::bool[]) AS t(app, environment, behavior, uses)
        WHERE NOT EXISTS (
            SELECT FROM (
                SELECT s.restore_behavior, s.uses_tokens FROM entitled.owner_setting s
                WHERE s.app = t.app AND s.environment = t.environment ORDER BY s.since_ms DESC LIMIT 1
            ) AS last WHERE last.restore_behavior = t.behavior AND last.uses_tokens = t.uses
        )
        ON CONFLICT DO NOTHING
        """

    /// Writes down what counts from now on, where it is other than before. Workers do, when they begin.
    package static func note(_ current: [Current], on connection: PostgresConnection) throws {
        guard !current.isEmpty else { return }
        _ = try connection.query(
            insert,
            [
                .texts(current.map(\.place.app)), .int2s(current.map(\.place.environment.code)),
                .texts(current.map(\.behavior.rawValue)), .bools(current.map(\.usesTokens)),
            ])
    }

    private static let select =
        "SELECT app, environment, since_ms, restore_behavior, uses_tokens FROM entitled.owner_setting"

    /// What was ever said, by app and environment.
    package static func read(on connection: PostgresConnection) throws -> [AppScope: OwnerSettings] {
        var entries: [AppScope: [OwnerSettings.Entry]] = [:]
        for row in try connection.query(select) {
            entries[try AppScope(row), default: []].append(
                OwnerSettings.Entry(
                    since: try row.int("since_ms"), behavior: try row.value("restore_behavior"),
                    usesTokens: try row.bool("uses_tokens")))
        }
        return entries.mapValues(OwnerSettings.init)
    }
}
