import Base
import Daemon
import Synchronization

/// Sends spans to a receiver of OTLP over HTTP, in JSON. Whatever the receiver does, nothing waits for it but this thread.
package final class SpanExporter: Service {
    package let name = "telemetry"

    /// Of one request.
    package static let batch = 512
    /// How long the end of the process may wait for the receiver.
    package static let patienceAtEnd = Duration.milliseconds(500)
    private static let interval = Duration.seconds(1)
    private static let timeout = Duration.seconds(10)
    /// Of the same spans.
    private static let tries = 3

    private let url: String
    private let headers: [(String, String)]
    private let resource: [(String, String)]
    private let tracer: Tracer
    private let client: HTTPClient
    private let logger: Logger
    private let metrics: Metrics
    private let failures = Mutex<(logged: ContinuousClock.Instant?, spans: Int)>((nil, 0))
    private static let complaintInterval = Duration.seconds(30)
    private let loop = Loop("telemetry")

    /// - Parameters:
    ///   - url: of the receiver, without `/v1/traces`.
    ///   - headers: with every request.
    ///   - resource: attributes of the process.
    package init(
        url: String, headers: [(String, String)], resource: [(String, String)], tracer: Tracer, logger: Logger,
        metrics: Metrics
    ) throws(HTTPClientError) {
        self.url = url + "/v1/traces"
        self.headers = headers + [("content-type", "application/json")]
        self.resource = resource
        self.tracer = tracer
        self.logger = logger
        self.metrics = metrics
        // The operator's own receiver, wherever it is. Not among the requests that are counted.
        var settings = HTTPClientConfiguration(
            allowedNetworks: ["0.0.0.0/0", "::/0"].compactMap(Network.init(parsing:)), maxConnections: 1)
        settings.allowsPlainHTTP = true
        client = try HTTPClient(configuration: settings, logger: .silent, metrics: Metrics())
    }

    package func start() {
        client.start()
        loop.start { [self] loop in
            var unsent: (spans: [Span], tries: Int) = ([], 0)
            loop.run {
                if unsent.spans.isEmpty { unsent = (tracer.take(atMost: SpanExporter.batch), 0) }
                guard !unsent.spans.isEmpty else { return .after(SpanExporter.interval) }
                unsent.tries += 1
                let isFull = unsent.spans.count == SpanExporter.batch
                guard send(unsent.spans, within: SpanExporter.timeout, isLast: unsent.tries >= SpanExporter.tries)
                else {
                    return .after(SpanExporter.interval * (1 << min(unsent.tries, 4)))
                }
                unsent = ([], 0)
                return isFull ? .again : .after(SpanExporter.interval)
            }
            finish(unsent.spans)
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        let end = min(deadline, .now + SpanExporter.patienceAtEnd)
        if !loop.drain(until: end) {
            // Cuts what is in flight; the thread ends by itself then.
            client.stop()
            loop.join(until: .now + .milliseconds(100))
        } else {
            client.stop()
        }
    }

    /// What is left goes in what is left of the time.
    private func finish(_ unsent: [Span]) {
        let end = ContinuousClock.now + SpanExporter.patienceAtEnd
        var spans = unsent.isEmpty ? tracer.take(atMost: SpanExporter.batch) : unsent
        while !spans.isEmpty {
            let left = end - ContinuousClock.now
            guard left > .zero, send(spans, within: left, isLast: true) else { break }
            spans = tracer.take(atMost: SpanExporter.batch)
        }
        let lost = tracer.take(atMost: .max).count
        if lost > 0 { count("failed", lost) }
    }

    /// - Returns: whether these are done with, sent or given up.
    private func send(_ spans: [Span], within timeout: Duration, isLast: Bool) -> Bool {
        let request = OutgoingRequest(
            url: url, headers: headers, body: OTLPDocument.request(spans, resource: resource).bytes, timeout: timeout)
        let (problem, isWorthAnother): (String, Bool)
        switch client.sendAndWait(request) {
        case .response(let response) where (200..<300).contains(response.status):
            let rejected = min(spans.count, max(0, OTLPDocument.rejected(in: response.body)))
            count("exported", spans.count - rejected)
            if rejected > 0 {
                count("failed", rejected)
                complain("the receiver rejected spans", rejected)
            }
            return true
        case .response(let response):
            (problem, isWorthAnother) = ("status \(response.status)", [429, 502, 503, 504].contains(response.status))
        case .failure(let failure): (problem, isWorthAnother) = (failure.message, failure.kind != .interrupted)
        }
        complain(problem, spans.count)
        guard isLast || !isWorthAnother else { return false }
        count("failed", spans.count)
        return true
    }

    private func count(_ outcome: String, _ number: Int) {
        metrics.count(.spans, ["outcome": outcome], by: Double(number))
    }

    /// At most each half minute, whatever the problem is.
    private func complain(_ problem: String, _ count: Int) {
        let spans: Int? = failures.withLock { state in
            state.spans += count
            if let logged = state.logged, ContinuousClock.now - logged < SpanExporter.complaintInterval { return nil }
            defer { state = (ContinuousClock.now, 0) }
            return state.spans
        }
        guard let spans else { return }
        logger.warning("spans not exported", ["count": .int(Int64(spans)), "error": .string(problem)])
    }
}
