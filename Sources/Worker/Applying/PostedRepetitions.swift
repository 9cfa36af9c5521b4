import Base
import Database
import Postgres

/// Transactions that apps posted again, signed anew, and that say nothing new: nothing of them is kept, so that an app that
/// posts what it has at each start does not fill the log.
enum PostedRepetitions {
    private static let forget = """
        DELETE FROM entitled.notification n USING unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        WHERE n.lane = t.lane /* cluster: AND n.lane = ANY($1::int2[]) */ AND n.seq = t.seq
        """
    private static let forgetKeys = """
        DELETE FROM entitled.notification_key k USING unnest($1::uuid[], $2::text[], $3::int2[], $4::int8[], $5::int2[])
            AS t(key, app, environment, seq, lane)
        WHERE k.lane = t.lane /* cluster: AND k.lane = ANY($5::int2[]) */ AND k.key = t.key AND k.app = t.app
            AND k.environment = t.environment AND k.seq = t.seq
        """

    static func forget(_ notifications: [PendingNotification], on connection: PostgresConnection) throws {
        guard !notifications.isEmpty else { return }
        _ = try connection.query(
            forget, [.int2s(notifications.map(\.lane.number)), .int8s(notifications.map(\.seq))])
        _ = try connection.query(
            forgetKeys,
            [
                .uuids(notifications.map(\.identity.key)), .texts(notifications.map(\.identity.app)),
                .int2s(notifications.map(\.identity.environment.code)), .int8s(notifications.map(\.seq)),
                .int2s(notifications.map(\.lane.number)),
            ])
    }
}
