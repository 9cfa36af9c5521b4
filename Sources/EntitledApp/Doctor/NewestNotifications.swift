import Base
import Database
import Postgres

/// When the newest notification of each app and environment came. What Apple was asked for, and what apps posted, tells
/// nothing about that.
struct NewestNotifications {
    struct Source: Hashable {
        let app: String
        let environment: StoreEnvironment
    }

    /// Milliseconds since 1970.
    private(set) var newest: [Source: Int64] = [:]
    private static let day: Int64 = 86_400_000

    /// The number from which on is searched, to go back so many days.
    static func least(daysAgo days: Int64, _ now: Int64) -> Int64 {
        SequenceGenerator.least(at: now - days * day)
    }

    /// A few of each lane, in one step also where many arrive.
    private static let sample = """
        SELECT n.app, n.environment, max(n.seq) AS seq FROM entitled.lane l CROSS JOIN LATERAL (
            SELECT app, environment, seq FROM entitled.notification
            WHERE lane = l.lane AND seq >= $1 AND source NOT IN (3, 4, 5, 6) ORDER BY seq DESC LIMIT 8
        ) n GROUP BY 1, 2
        """

    private static let exact = """
        SELECT max(seq) FROM entitled.notification WHERE app = $1 AND environment = $2 AND seq >= $3
            AND source NOT IN (3, 4, 5, 6)
        """

    /// - Parameter reach: days.
    init(of sources: [Source], reach: Int64, now: Int64, on connection: PostgresConnection) throws {
        for row in try connection.query(
            NewestNotifications.sample, [.int8(NewestNotifications.least(daysAgo: reach, now))])
        {
            let environment: StoreEnvironment = try row.value("environment")
            let source = Source(app: try row.text("app"), environment: environment)
            newest[source] = SequenceGenerator.instant(of: try row.int("seq"))
        }
        for source in sources where newest[source] == nil {
            // The last days first: longer is only searched where nothing came.
            for days in [1, 7, reach] {
                let found = try connection.query(
                    NewestNotifications.exact,
                    [
                        .text(source.app), .int2(source.environment.code),
                        .int8(NewestNotifications.least(daysAgo: days, now)),
                    ]
                ).one().optionalInt("max")
                guard let found else { continue }
                newest[source] = SequenceGenerator.instant(of: found)
                break
            }
        }
    }
}
