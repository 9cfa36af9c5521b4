import Base
import Crypto
import Database
import Postgres
import Subscriptions

/// TEST events: about no customer, to one endpoint, through the same line as every other event.
enum TestEventMaker {
    static func make(app: String) -> (id: String, new: NewEvent) {
        let id = EventID.uuid(of: SecureRandom.bytes(16))
        let body = TestEvent.json(id: id, appID: app, now: SystemClock().now())
        let lane = Lane(app: app, environment: .sandbox, subject: id)
        let event = NewEvent(
            lane: lane, id: UUIDText.bytes(id) ?? [], type: EventType.test.rawValue, app: app, environment: .sandbox,
            originalTransactionID: nil, body: body.bytes)
        return (id, event)
    }

    /// The same for the endpoint of operations, whose events have another shape.
    static func makeForOperations() -> (id: String, new: NewEvent) {
        let cause = Hex.encode(SecureRandom.bytes(16))
        let event = OperationsEvent(
            .test, cause: cause, at: SystemClock().now(), data: .object(["message": .string("asked for by hand")]))
        return (UUIDText.upper(event.id), event.event)
    }

    /// Whatever the endpoint's filters are: a test is asked for by hand.
    static func insert(_ event: NewEvent, for endpoint: Endpoint, on connection: PostgresConnection) throws {
        try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            _ = try EventTable.insert([event], only: endpoint.id, now: SystemClock().now(), on: connection)
        }
    }
}
