import Base
import Daemon
import HTTP

/// A request of the REST API in the trace that its caller named, else in one of its own.
struct RequestSpan: Sendable {
    private let context: TraceContext?
    private let trace: TraceID
    private let method: String
    private let tracer: Tracer
    private let begun = Span.now()

    /// Nil where the request is not recorded. Callers, which may be anyone, do not decide how much is: of a trace of theirs,
    /// whose id they choose, chance does.
    init?(_ head: HTTPRequestHead, _ tracer: Tracer) {
        guard tracer.isOn else { return nil }
        context = head.traceContext
        let chance = TraceID.random()
        trace = context?.trace ?? chance
        guard tracer.records(chance) else { return nil }
        method = head.method
        self.tracer = tracer
    }

    /// - Parameter route: as documents write it; nil: there is no such route. Paths name customers.
    func end(_ status: Int, _ route: String?) {
        let hasFailed = status >= 500
        let name = RequestSpan.methods.contains(method) ? method : "HTTP"
        tracer.record(
            Span(
                route.map { "\(name) \($0)" } ?? name, .server, trace: trace, parent: context?.span, start: begun,
                attributes: [
                    "http.request.method": .text(name == "HTTP" ? "_OTHER" : name),
                    "http.route": route.map { .text($0) },
                    "http.response.status_code": .number(Int64(status)),
                    "error.type": hasFailed ? .text(String(status)) : nil,
                ], hasFailed: hasFailed))
    }

    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
}

extension HTTPRequestHead {
    /// What `traceparent` says; nil where there is none, or none that is valid.
    var traceContext: TraceContext? { header("traceparent").flatMap(TraceContext.init(traceparent:)) }
}
