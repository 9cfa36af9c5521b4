import Base
import Postgres

/// Which notifications are known.
package enum KnownNotifications {
    private static let selectPlaces = """
        SELECT k.lane, k.seq FROM unnest($1::uuid[], $2::text[], $3::int2[]) AS t(key, app, environment)
        JOIN entitled.notification_key k ON k.key = t.key AND k.app = t.app AND k.environment = t.environment
        """

    /// Where those of these that are known stand in the log.
    package static func places(
        of identities: [NotificationIdentity], on connection: PostgresConnection
    ) throws -> [LogPosition] {
        guard !identities.isEmpty else { return [] }
        return try connection.query(
            selectPlaces,
            [
                .uuids(identities.map(\.key)), .texts(identities.map(\.app)),
                .int2s(identities.map(\.environment.code)),
            ]
        ).map { try LogPosition($0) }
    }

    private static let select = """
        SELECT t.place FROM unnest($1::uuid[], $2::text[], $3::int2[], $4::int4[]) AS t(key, app, environment, place)
        JOIN entitled.notification_key k ON k.key = t.key AND k.app = t.app AND k.environment = t.environment
        """

    /// Those of these that are known.
    package static func among(
        _ identities: [NotificationIdentity], on connection: PostgresConnection
    ) throws -> Set<NotificationIdentity> {
        guard !identities.isEmpty else { return [] }
        let rows = try connection.query(
            select,
            [
                .uuids(identities.map(\.key)), .texts(identities.map(\.app)),
                .int2s(identities.map(\.environment.code)), .int4s((0..<Int32(identities.count)).map { $0 }),
            ])
        return Set(
            try rows.compactMap { row in
                let place = Int(clamping: try row.int("place"))
                return identities.indices.contains(place) ? identities[place] : nil
            })
    }
}
