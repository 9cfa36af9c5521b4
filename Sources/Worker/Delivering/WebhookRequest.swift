import Base
import Database
import HTTP

/// One attempt as it goes over the wire.
package enum WebhookRequest {
    /// Signed with the time of this attempt; the event and the id are those of every attempt.
    package static func make(
        _ delivery: DueDelivery, endpoint: Endpoint, timestamp: Int64, timeout: Duration
    ) -> OutgoingRequest {
        let body = WebhookBody.bytes(of: delivery, for: endpoint, timestamp: timestamp)
        var headers = [("content-type", "application/json")]
        headers += WebhookSignature.headers(
            id: delivery.webhookID, timestamp: timestamp, body: body, secrets: endpoint.secrets,
            signingKeys: endpoint.signingKeys)
        headers.append(("entitled-attempt", String(delivery.attempts + 1)))
        if let sequence = delivery.sequence {
            headers.append(("entitled-sequence", String(sequence)))
        }
        if let authorization = endpoint.authorization {
            headers.append(("authorization", authorization.exposed))
        }
        headers += endpoint.headers.map { ($0.name, $0.value.exposed) }
        // After a failure every request counts as the attempt that it says it is.
        return OutgoingRequest(
            url: endpoint.url, headers: headers, body: body, timeout: timeout,
            needsNewConnection: delivery.attempts > 0)
    }
}
