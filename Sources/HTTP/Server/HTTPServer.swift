import Base
import CMicrohttpd
import Daemon
import Glibc
import Synchronization

/// One listener, on libmicrohttpd's poll mode, with a guard in front of its leniency and deadlines that dripping
/// cannot move.
package final class HTTPServer: Service {
    /// What is kept of the drain's time for answering 503 in place of handlers that did not answer.
    private static let reserve = Duration.milliseconds(500)
    /// Descriptors a process needs besides connections.
    private static let otherDescriptors = 512
    /// Bytes of libmicrohttpd's buffer per connection. Half of it takes what is read at once, so that a request of usual
    /// size needs one read; a request head must fit into all of it. It is zeroed after each request, so no larger.
    private static let memoryPerConnection = 49152
    /// More than any configuration allows.
    private static let mostConnections = 1 << 20

    private struct Running {
        let daemon: UInt
        /// Whether other processes have the socket, too.
        let isInherited: Bool
        let sweeper: ServiceThread
        let port: UInt16
    }

    package let name: String
    private var configuration: HTTPServerConfiguration { core.configuration }
    private let logger: Logger
    private let core: ServerCore
    private let running = Mutex<Running?>(nil)

    package init(
        _ configuration: HTTPServerConfiguration, handler: any HTTPHandler, logger: Logger, metrics: Metrics? = nil
    ) {
        name = configuration.role
        self.logger = logger
        core = ServerCore(configuration, handler, LingeringSockets())
        if let metrics {
            HTTPServerMetrics.collect(core, into: metrics)
        }
    }

    /// The port it listens on; nil before `start` and after `drain`.
    package var boundPort: UInt16? { running.withLock { $0?.port } }

    /// What new connections show from now on; those that are open keep what they were set up with. Nothing happens without
    /// TLS, which is decided at the start.
    package func replaceIdentity(_ identity: TLSIdentity) {
        core.identity.withLock { current in
            if current != nil { current = identity }
        }
    }

    /// Whether only TLS is spoken, which is decided at the start.
    package var speaksTLS: Bool { core.identity.withLock { $0 != nil } }

    /// Takes what clients may send, and a handler, in place of the former ones; open connections stay. The address, the
    /// number of threads and whether TLS is spoken stay as they were at the start.
    ///
    /// Returns once every call of the former handler has returned: it gets no further request.
    package func serve(_ new: HTTPServerConfiguration, with handler: any HTTPHandler) {
        ListeningSocket.allowDescriptors(new.maxConnections + HTTPServer.otherDescriptors)
        if let identity = new.identity { replaceIdentity(identity) }
        let former = core.replace(with: Serving(new, handler))
        // A call takes microseconds: a handler passes its request on.
        while former.calls.load(ordering: .acquiring) > 0 { usleep(1000) }
    }

    /// Whether the thread that closes late connections is at work.
    package func isAlive(within patience: Duration) -> Bool {
        boundPort == nil || MonotonicTime.now() - core.swept.withLock({ $0 }) <= patience
    }

    /// Listens from now on, once. Throws `HTTPServerError`.
    package func start() throws {
        guard !core.isDraining.load(ordering: .sequentiallyConsistent), boundPort == nil else {
            throw HTTPServerError.cannotStart
        }
        ListeningSocket.allowDescriptors(configuration.maxConnections + HTTPServer.otherDescriptors)
        let inherited = configuration.inherited
        let listening = try inherited ?? ListeningSocket.open(configuration.listen)
        guard let address = SocketAddress(boundBy: listening) else {
            close(listening)
            throw HTTPServerError.cannotStart
        }
        let core = core
        var callbacks = Callbacks.make(core)
        let threads = UInt32(clamping: max(1, configuration.threads))
        // The cap is counted in `admits`, which another configuration may change; libmicrohttpd's own is out of its way.
        let limit = UInt32(clamping: HTTPServer.mostConnections * Int(threads))
        let daemon = entitled_mhd_start(
            listening, threads, limit, HTTPServer.memoryPerConnection, configuration.identity != nil, &callbacks)
        guard let daemon else {
            close(listening)
            throw HTTPServerError.cannotStart
        }
        let interval = sweepInterval
        let sweeper = ServiceThread("http-\(name)") {
            core.lingering.run(every: interval) { core.sweep() }
        }
        running.withLock {
            $0 = Running(
                daemon: UInt(bitPattern: daemon), isInherited: inherited != nil, sweeper: sweeper, port: address.port)
        }
        logger.notice(
            "listening",
            ["role": .string(name), "address": .string(address.text), "inherited": inherited.map { _ in .bool(true) }])
    }

    /// Often enough to be late by a tenth at most.
    private var sweepInterval: Duration {
        let shortest = min(configuration.headerTimeout, configuration.bodyTimeout, configuration.idleTimeout)
        return min(max(shortest / 10, .milliseconds(10)), .milliseconds(100))
    }

    /// Every answer closes its connection from now on, so that clients go elsewhere; all requests are still handled.
    package func announceEnd() { core.isLeaving.store(true, ordering: .relaxed) }

    /// Accepts no more, answers what is in flight, closes what is idle, then stops. What the handler has not answered
    /// shortly before the deadline is answered 503.
    package func drain(until deadline: ContinuousClock.Instant) {
        guard
            let running = running.withLock({ running in
                defer { running = nil }
                return running
            }), let daemon = OpaquePointer(bitPattern: running.daemon)
        else { return }
        announceEnd()
        core.isDraining.store(true, ordering: .sequentiallyConsistent)
        let listening = MHD_quiesce_daemon(daemon)
        // Connections that wait in the queue of an inherited socket are for the process that accepts next.
        if !running.isInherited { shutdown(listening, Int32(SHUT_RDWR)) }
        let soon = MonotonicTime.after(configuration.drainGrace)
        core.open.forEach { $0.hurry(until: soon) }
        if !waitUntilEmpty(until: deadline - HTTPServer.reserve) {
            // After this no request reaches the handler, so none is suspended behind the loop's back.
            core.isStopping.store(true, ordering: .sequentiallyConsistent)
            core.open.forEach { $0.abandon(with: .unavailable("The server is shutting down.")) }
            _ = waitUntilEmpty(until: deadline)
        }
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        core.open.forEach { $0.abandon(with: .unavailable("The server is shutting down.")) }
        MHD_stop_daemon(daemon)
        close(listening)
        core.lingering.stop()
        running.sweeper.join()
    }

    private func waitUntilEmpty(until deadline: ContinuousClock.Instant) -> Bool {
        let left = max(deadline - .now, .zero)
        return core.connections.wait(timeout: left) { $0.count == 0 ? true : nil } ?? false
    }
}
