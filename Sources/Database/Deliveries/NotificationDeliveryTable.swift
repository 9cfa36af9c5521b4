import Base
import Postgres

/// Deliveries of Apple's notifications as they came, to the endpoints that get those.
package enum NotificationDeliveryTable {
    private static let insert = """
        INSERT INTO entitled.delivery
            (lane, id, endpoint, event, event_type, state, reason, next_ms, created_ms, notification_seq, webhook_id)
        SELECT t.lane, t.id, t.endpoint, t.event, t.event_type, t.state, t.reason, $8, $8, t.seq, t.webhook_id
        FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::int2[], $7::text[], $9::int8[],
            $10::text[]) AS t(lane, id, endpoint, event, event_type, state, reason, seq, webhook_id)
        ON CONFLICT DO NOTHING RETURNING state
        """

    /// What came so long before an endpoint is not for it, also when it is applied only now; clocks differ.
    private static let clockTolerance: Int64 = 3_600_000

    private struct New {
        let notification: PendingNotification
        let endpoint: Endpoint

        var id: DeliveryID {
            DeliveryID(lane: notification.lane, notification: notification.identity, endpoint: endpoint.id)
        }
        /// As Apple spelled it, if it is a UUID.
        var webhookID: String {
            let uuid = notification.identity.uuid
            return UUIDText.bytes(uuid) == nil ? UUIDText.upper(notification.identity.key) : uuid
        }
    }

    /// Writes a delivery of each notification for each endpoint that wants it, whatever became of the notification: also
    /// of those that are held, or that change nothing; not of what Apple never sent. Who gets them is read here, in the transaction that applies them.
    ///
    /// Costs nothing where no endpoint gets notifications. One that was applied before has its deliveries already.
    ///
    /// - Returns: how many may be sent now.
    package static func insert(
        _ notifications: [PendingNotification], now: Int64, on connection: PostgresConnection
    ) throws -> Int {
        let forwarded = notifications.filter { $0.isForwarded && !$0.identity.app.isEmpty }
        guard !forwarded.isEmpty else { return 0 }
        let endpoints = try EndpointTable.lock(.raw, on: connection)
        let new = forwarded.flatMap { notification in
            endpoints.filter { wants($0, notification) }.map { New(notification: notification, endpoint: $0) }
        }
        guard !new.isEmpty else { return 0 }
        let states = new.map { $0.endpoint.isEnabled ? DeliveryState.pending : .held }
        let rows = try connection.query(
            insert,
            [
                .int2s(new.map(\.notification.lane.number)), .uuids(new.map(\.id.bytes)),
                .texts(new.map(\.endpoint.id)), .uuids(new.map(\.notification.identity.key)),
                .texts(new.map(\.notification.type)), .int2s(states.map(\.rawValue)),
                .texts(states.map { $0 == .held ? "endpoint disabled" : nil }), .int8(now),
                .int8s(new.map(\.notification.seq)), .texts(new.map(\.webhookID)),
            ])
        return try rows.filter { try $0.value("state", as: DeliveryCode.self) == .pending }.count
    }

    /// What was found in Apple's history long after it was signed is not sent, as its events are not.
    private static func isForTheRecord(_ notification: PendingNotification) -> Bool {
        let origin = NotificationOrigin(seq: notification.seq, source: notification.source)
        return notification.signed.map(origin.isForTheRecord) ?? false
    }

    private static func wants(_ endpoint: Endpoint, _ notification: PendingNotification) -> Bool {
        let identity = notification.identity
        return endpoint.wants(type: notification.type, app: identity.app, environment: identity.environment)
            && SequenceGenerator.instant(of: notification.seq) >= endpoint.created - clockTolerance
            && !isForTheRecord(notification) && notification.source.isSent
    }
}
