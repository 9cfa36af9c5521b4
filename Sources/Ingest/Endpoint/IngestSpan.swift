import Base
import Daemon
import Database

/// A request of Apple's in the trace of its notification: the whole, its verification, and its commit.
package struct IngestSpan: Sendable {
    private let identity: NotificationIdentity
    private let trace: TraceID
    private let tracer: Tracer
    private let begun: Span.Time
    private let verified = Span.now()

    /// Nil where the trace is not recorded.
    init?(of identity: NotificationIdentity, begun: Span.Time, _ tracer: Tracer) {
        guard tracer.isOn, let trace = identity.trace, tracer.records(trace) else { return nil }
        self.identity = identity
        self.trace = trace
        self.tracer = tracer
        self.begun = begun
    }

    /// - Parameter answer: `accepted`, `duplicate` or `503`.
    func end(_ answer: String) {
        let end = Span.now()
        // The notification that is stored has a span that its application knows; Apple's repetitions have others.
        let id = answer == "accepted" ? SpanID(of: "ingest", identity.key) : SpanID.random()
        let hasFailed = answer == "503"
        tracer.record([
            Span("verify", .internal, trace: trace, parent: id, start: begun, end: verified),
            Span("store", .internal, trace: trace, parent: id, start: verified, end: end, hasFailed: hasFailed),
            Span(
                "POST \(IngestHandler.path)", .server, trace: trace, id: id, start: begun, end: end,
                attributes: [
                    "http.request.method": .text("POST"), "http.route": .text(IngestHandler.path),
                    "http.response.status_code": .number(hasFailed ? 503 : 200),
                    "error.type": hasFailed ? .text("503") : nil, "entitled.app": .text(identity.app),
                    "entitled.environment": .text(identity.environment.rawValue), "entitled.outcome": .text(answer),
                ], hasFailed: hasFailed),
        ])
    }
}
