import Base
import Postgres

/// When the posts of apps came in, to the hour.
package enum AppPostTable {
    private static let update = """
        INSERT INTO entitled.app_post (app, environment, last_ms)
        SELECT app, environment, $3 FROM unnest($1::text[], $2::int2[]) AS t(app, environment) ORDER BY 1, 2
        ON CONFLICT (app, environment) DO UPDATE SET last_ms = excluded.last_ms
        WHERE app_post.last_ms < excluded.last_ms - 3600000
        """

    /// Notes that posts of these came in now, in ms.
    package static func note(_ scopes: Set<AppScope>, now: Int64, on connection: PostgresConnection) throws {
        guard !scopes.isEmpty else { return }
        let sorted = scopes.sorted { ($0.app, $0.environment.code) < ($1.app, $1.environment.code) }
        _ = try connection.query(
            update, [.texts(sorted.map(\.app)), .int2s(sorted.map(\.environment.code)), .int8(now)])
    }

    private static let select = "SELECT last_ms FROM entitled.app_post WHERE app = $1 AND environment = $2"

    /// When the last one came, in ms; nil: none ever did.
    package static func last(of scope: AppScope, on connection: PostgresConnection) throws -> Int64? {
        try connection.query(select, [.text(scope.app), .int2(scope.environment.code)]).first?.int("last_ms")
    }
}
