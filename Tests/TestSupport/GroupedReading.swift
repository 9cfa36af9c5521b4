import Base
import Database
import Postgres

/// What workers read, of one group of lanes after the other: on one Postgres that is one statement.
extension DeliveryTable {
    /// What is due in these lanes, at most so many for each endpoint.
    package static func dueInGroups(
        room: [String: Int], lanes: [Lane] = Lane.all, now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        var (room, found) = (room, [DueDelivery]())
        for part in connection.laneGroups.split(lanes) {
            let due = try due(room: room, lanes: part.elements, now: now, on: connection).deliveries
            for delivery in due { room[delivery.endpoint, default: 0] -= 1 }
            found += due
        }
        return found
    }
}

extension HeldNotifications {
    /// Those of all lanes whose time has come, at most so many of each group.
    package static func dueInGroups(
        at now: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        try connection.laneGroups.split(Lane.all).flatMap { part in
            try due(in: part.elements, at: now, atMost: limit, on: connection)
        }
    }
}
