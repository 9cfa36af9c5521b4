import Base
import Crypto
import Postgres
import Subscriptions

/// TEST events: about no customer, to one endpoint, through the same line as every other event.
package enum TestEventMaker {
    private static func make(app: String, now: Int64) -> (id: String, new: NewEvent) {
        let id = EventID.uuid(of: SecureRandom.bytes(16))
        let body = TestEvent.json(id: id, appID: app, now: now)
        let lane = Lane(app: app, environment: .sandbox, subject: id)
        let event = NewEvent(
            lane: lane, id: UUIDText.bytes(id) ?? [], type: EventType.test.rawValue, app: app, environment: .sandbox,
            originalTransactionID: nil, body: body.bytes)
        return (id, event)
    }

    /// The same for the endpoint of operations, whose events have another shape.
    private static func makeForOperations(now: Int64) -> (id: String, new: NewEvent) {
        let cause = Hex.encode(SecureRandom.bytes(16))
        let event = OperationsEvent(
            .test, cause: cause, at: now, data: .object(["message": .string("asked for by hand")]))
        return (UUIDText.upper(event.id), event.event)
    }

    /// Why none is sent to an endpoint, as a sentence; nil: one is.
    package static func objection(to endpoint: Endpoint) -> String? {
        if let reason = endpoint.disabledReason { return "The endpoint \(endpoint.id) is disabled: \(reason)." }
        return endpoint.format == .revenuecat
            ? nil
            : "The endpoint \(endpoint.id) receives only notifications of Apple: ask Apple for a test notification."
    }

    /// One that this endpoint can read.
    ///
    /// - Parameter firstApp: of the configuration.
    package static func event(
        for endpoint: Endpoint, firstApp: String?, now: Int64
    ) -> (id: String, new: NewEvent) {
        endpoint.isOperations
            ? makeForOperations(now: now) : make(app: endpoint.apps.first ?? firstApp ?? "none", now: now)
    }

    /// Whatever the endpoint's filters are: a test is asked for by hand.
    package static func insert(
        _ event: NewEvent, for endpoint: Endpoint, now: Int64, on connection: PostgresConnection
    ) throws {
        try connection.joinedTransaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            _ = try EventTable.insert([event], only: endpoint.id, now: now, on: connection)
        }
    }
}
