import Base
import Postgres

/// The bodies of requests as Apple sent them, made again from what is stored: the JWS in them is the same byte for byte.
package struct NotificationBodies: Sendable {
    private let dictionaries = HeaderDictionaries()

    package init() {}

    package enum Found: Sendable, Equatable {
        /// `{"signedPayload":"…"}`
        case body([UInt8])
        /// Why there is none; nothing that waiting mends.
        case gap(String)
    }

    /// One for each of these places.
    package func read(_ places: [LogPosition], on connection: PostgresConnection) throws -> [LogPosition: Found] {
        guard !places.isEmpty else { return [:] }
        let sorted = Set(places).sorted { $0.seq < $1.seq }.map { (lane: $0.lane.number, seq: $0.seq) }
        var found: [LogPosition: Found] = [:]
        for notification in try PendingNotification.read(sorted, on: connection) {
            found[LogPosition(lane: notification.lane, seq: notification.seq)] = body(notification)
        }
        return found
    }

    private func body(_ notification: PendingNotification) -> Found {
        if notification.identity.app.isEmpty {
            return .gap("the notification was kept long enough and is gone")
        }
        if let gap = notification.gap { return .gap(gap) }
        do {
            let payload = try dictionaries.restore(notification.stored, header: notification.header)
            let jws = notification.stored.compact(header: notification.header, payload: payload)
            // base64url and dots: nothing in it needs escaping.
            return .body(Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8))
        } catch {
            return .gap("the stored payload cannot be restored: \(error)")
        }
    }
}
