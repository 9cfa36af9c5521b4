import Base
import CLI
import Daemon
import Database
import Duties
import HTTP
import Worker

/// Posts events to a consumer in the making, as deliveries are: once, one after the other.
///
/// Wherever its URL leads to: who typed it sits at this machine.
final class EventForwarder: Sendable {
    /// What came of one event.
    struct Answer: Sendable {
        /// Nil: there was none.
        let status: Int?
        let error: String?
        let milliseconds: Int64
    }

    let url: String
    /// As people give it to their consumer.
    let secret: WebhookSecret
    private let timeout: Duration
    private let client: HTTPClient

    init(to url: String, secret: WebhookSecret?, timeout: Duration) throws {
        do {
            self.url = try OutgoingURL(parsing: url).text
        } catch {
            throw UsageError("--forward-to: \(Terminal.harmless(url)) cannot be used: \(error)")
        }
        self.secret = secret ?? .generate()
        self.timeout = timeout
        client = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["0.0.0.0/0", "::/0"].compactMap(Network.init(parsing:))), logger: .silent,
            metrics: Metrics())
        client.start()
    }

    /// From any thread: what is in flight is cut.
    func stop() {
        client.stop()
    }

    func send(_ event: EventTail.Event) -> Answer {
        let endpoint = Endpoint(id: "listen", url: url, created: 0, secrets: [secret], isSendable: true)
        let delivery = DueDelivery(
            id: DeliveryID(lane: event.key.lane, event: event.key.id, endpoint: endpoint.id), endpoint: endpoint.id,
            event: event.key.id, eventType: event.type, attempts: 0, roundStart: 0, body: event.body,
            sequence: event.sequence)
        let request = WebhookRequest.make(
            delivery, endpoint: endpoint, timestamp: SystemClock().now() / 1000, timeout: timeout)
        switch client.sendAndWait(request) {
        case .response(let response):
            return Answer(status: response.status, error: nil, milliseconds: response.milliseconds)
        case .failure(let failure):
            return Answer(status: failure.status, error: failure.message, milliseconds: failure.milliseconds)
        }
    }
}
