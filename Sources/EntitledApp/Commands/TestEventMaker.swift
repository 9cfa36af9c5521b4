import Base
import Crypto
import Postgres
import Queue
import Records
import Subscriptions

/// TEST events: about nobody, to one endpoint, through the same line as every other event.
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

    /// Whatever the endpoint's filters are: a test is asked for by hand.
    static func insert(_ event: NewEvent, for endpoint: Endpoint, on connection: PostgresConnection) throws {
        let unfiltered = Endpoint(id: endpoint.id, url: endpoint.url, created: endpoint.created)
        try connection.transaction {
            _ = try connection.query("SELECT set_config('synchronous_commit', 'on', true)")
            _ = try EventStore.insert([event], endpoints: [unfiltered], now: SystemClock().now(), on: connection)
        }
    }
}
