import Base
import Telemetry

/// One duty of a process, from its start to its orderly end.
package protocol Service: Sendable {
    /// As log lines name it.
    var name: String { get }

    /// Opens what it needs and begins; returns when it is ready.
    func start() throws

    /// Takes nothing new, finishes what is in flight, lets go of what it holds; returns when done or at the deadline.
    func drain(until deadline: ContinuousClock.Instant)
}

/// The services of a process: started in order, drained in the same order, so that what takes work in ends first.
package final class ServiceGroup: Sendable {
    private let services: [any Service]
    private let drainTimeout: Duration
    private let logger: Logger
    private let failure = Monitor<String?>(nil)

    package init(_ services: [any Service], drainTimeout: Duration, logger: Logger) {
        self.services = services
        self.drainTimeout = drainTimeout
        self.logger = logger
    }

    /// Ends the process in order because a service cannot go on; for what no retry can mend.
    package func fail(_ reason: String) {
        failure.change { $0 = $0 ?? reason }
        Signals.raise(Signals.terminate)
    }

    /// Runs until SIGTERM or SIGINT; a second one ends the process at once. The exit status.
    package func run() -> Int32 {
        var started: [any Service] = []
        defer { Signals.restore() }
        Signals.block()
        for service in services {
            do {
                try service.start()
                started.append(service)
            } catch {
                logger.error("a service did not start", ["service": .string(service.name), "error": .string("\(error)")])
                drain(started)
                return 1
            }
        }
        let signal = Signals.wait()
        if let reason = failure.read({ $0 }) {
            logger.error("ending", ["reason": .string(reason)])
        } else {
            logger.notice("draining", ["signal": .string(signal), "timeout_ms": .int(drainTimeout.milliseconds)])
        }
        let second = ServiceThread("second-signal") {
            _ = Signals.wait()
            Signals.endNow()
        }
        drain(started)
        _ = second
        logger.notice("ended")
        return failure.read { $0 } == nil ? 0 : 1
    }

    private func drain(_ services: [any Service]) {
        let deadline = ContinuousClock.now + drainTimeout
        for service in services {
            service.drain(until: deadline)
        }
    }
}
