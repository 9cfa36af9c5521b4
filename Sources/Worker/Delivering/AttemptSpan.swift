import Base
import Daemon
import Database
import HTTP

extension Span {
    /// An attempt, by the semantic conventions of HTTP clients. Of the URL only scheme, host and port: paths and queries may
    /// have secrets in them.
    ///
    /// - Parameter timestamp: that with which it was signed; s since 1970.
    static func attempt(
        _ delivery: DueDelivery, of trace: TraceID, to endpoint: Endpoint, at timestamp: Int64, begun: Span.Time,
        _ outcome: TransferOutcome
    ) -> Span {
        let url = try? OutgoingURL(parsing: endpoint.url)
        let code = AttemptOutcome(outcome).code
        let hasFailed = code != AttemptOutcome.delivered.code
        let version =
            switch outcome {
            case .response(let response): response.trace.version
            case .failure(let failure): failure.trace.version
            }
        return Span(
            "POST", .client, trace: trace, id: delivery.attemptSpan(at: timestamp), parent: delivery.parentSpan,
            start: begun,
            attributes: [
                "http.request.method": .text("POST"), "url.scheme": url.map { .text($0.scheme.rawValue) },
                "server.address": url.map { .text($0.host) }, "server.port": url.map { .number(Int64($0.port)) },
                "http.response.status_code": outcome.status.map { .number(Int64($0)) },
                "http.request.resend_count": delivery.attempts > 0 ? .number(Int64(delivery.attempts)) : nil,
                "network.protocol.version": version.map { .text($0 == 20 ? "2" : $0 == 10 ? "1.0" : "1.1") },
                "error.type": hasFailed ? .text(outcome.status.map(String.init) ?? code) : nil,
                "entitled.delivery.id": .text(delivery.id.text), "entitled.endpoint.id": .text(endpoint.id),
                "entitled.event.type": .text(delivery.eventType), "entitled.event.id": .text(delivery.webhookID),
            ], hasFailed: hasFailed)
    }
}
