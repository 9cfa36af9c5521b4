import Base
import Database
import HTTP

/// One attempt as it goes over the wire.
package enum WebhookRequest {
    /// Signed with the time of this attempt; the event and the id are those of every attempt.
    ///
    /// - Parameter isRecorded: whether the attempt is a span that goes to a receiver of traces.
    package static func make(
        _ delivery: DueDelivery, endpoint: Endpoint, timestamp: Int64, timeout: Duration, isRecorded: Bool = false
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
        // An endpoint may have one of its own.
        if let trace = delivery.trace, !endpoint.headers.contains(where: { $0.name.lowercased() == "traceparent" }) {
            let context = TraceContext(
                trace: trace, span: delivery.attemptSpan(at: timestamp), isSampled: isRecorded)
            headers.append(("traceparent", context.traceparent))
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
