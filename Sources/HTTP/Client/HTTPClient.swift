import Base
import Daemon
import Synchronization

/// Sends requests by libcurl, many at a time on one thread, to vetted addresses only.
///
/// All addresses of a name are judged before anything is connected to, and only those are connected to; redirects are
/// not followed; a response is cut behind its limit, and any transfer at its deadline. So a slow or hostile server
/// costs one of `maxConnections` places until the deadline, and nothing else.
package final class HTTPClient: Sendable {
    private enum Phase {
        case new
        case running(ServiceThread)
        case stopped
    }

    private let loop: TransferLoop
    private let resolver: Resolver
    private let counter: TransferCounter
    private let phase = Mutex(Phase.new)

    /// - Throws: where the system gives no descriptors or memory.
    package convenience init(
        configuration: HTTPClientConfiguration, logger: Logger, metrics: Metrics
    ) throws(HTTPClientError) {
        try self.init(
            configuration: configuration, logger: logger, metrics: metrics,
            resolver: configuration.proxy == nil
                ? Resolver(metrics: metrics, allowedNetworks: configuration.allowedNetworks)
                : Resolver(metrics: metrics, search: .always))
    }

    /// - Parameter resolver: started and stopped with the client.
    package init(
        configuration: HTTPClientConfiguration, logger: Logger, metrics: Metrics, resolver: Resolver
    ) throws(HTTPClientError) {
        let counter = TransferCounter(metrics)
        self.counter = counter
        self.resolver = resolver
        loop = try TransferLoop(configuration, resolver: resolver, logger: logger) { submission, outcome in
            counter.end(outcome)
            submission.completion(outcome)
        }
        // Weak, because the counter holds the metrics.
        metrics.collect { [weak counter] metrics in
            guard let counter else { return }
            metrics.gauge(.clientInFlight, Double(counter.inFlight))
        }
    }

    deinit {
        // Not joined: the last reference may go away on the loop's own thread.
        loop.stop()
        resolver.stop()
    }

    /// Begins to send what was and is submitted. Once.
    package func start() {
        phase.withLock { phase in
            guard case .new = phase else { return }
            resolver.start()
            let loop = loop
            phase = .running(ServiceThread("http-client") { loop.run() })
        }
    }

    /// Cuts what is in flight, whose outcome is `interrupted`, and takes nothing new. Returns when every completion has
    /// been called; must not be called by a completion.
    package func stop() {
        let thread: ServiceThread? = phase.withLock { phase in
            defer { phase = .stopped }
            if case .running(let thread) = phase { return thread }
            return nil
        }
        loop.stop()
        resolver.stop()
        if let thread {
            thread.join()
        } else {
            loop.interruptUnbegun()
        }
    }

    /// Submitted and not ended.
    package var inFlight: Int { counter.inFlight }

    /// Sends a request; from any thread, without waiting. Its timeout begins when it is one of `maxConnections`, which
    /// is at once unless the caller submits more than those.
    ///
    /// - Parameter completion: called exactly once, on the client's thread, which must not be held up; after `stop` at
    ///   once on the calling thread.
    package func submit(_ request: OutgoingRequest, completion: @escaping @Sendable (TransferOutcome) -> Void) {
        counter.begin()
        let submission = Submission(request, completion: completion)
        guard !loop.submit(submission) else { return }
        let outcome = Submission.notBegun
        counter.end(outcome)
        completion(outcome)
    }

    /// Sends a request and waits for its end: for command lines, never in a completion.
    package func sendAndWait(_ request: OutgoingRequest) -> TransferOutcome {
        let result = Monitor<TransferOutcome?>(nil)
        submit(request) { outcome in result.change { $0 = outcome } }
        return result.wait { $0 } ?? Submission.notBegun
    }
}
