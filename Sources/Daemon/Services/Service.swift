import Base

/// One duty of a process, from its start to its orderly end.
package protocol Service: Sendable {
    /// As log lines name it.
    var name: String { get }

    /// Opens what it needs and begins; returns when it is ready.
    func start() throws

    /// Takes nothing new, finishes what is in flight, lets go of what it holds; returns when done or at the deadline.
    func drain(until deadline: ContinuousClock.Instant)
}

/// The services of a process, in chains: started in order; at the end all chains drain at the same time, each in its
/// order, so that what takes work in ends first, and no chain waits for another.
package final class ServiceGroup: Sendable {
    private let chains: [[any Service]]
    private let drainTimeout: Duration
    private let logger: Logger
    private let failure = Monitor<(reason: String?, isDraining: Bool)>((nil, false))

    package init(_ chains: [[any Service]], drainTimeout: Duration, logger: Logger) {
        self.chains = chains
        self.drainTimeout = drainTimeout
        self.logger = logger
    }

    /// Ends the process in order because a service cannot go on; for what no retry can mend.
    package func fail(_ reason: String) {
        let isFirst = failure.change { failure in
            guard failure.reason == nil, !failure.isDraining else { return false }
            failure.reason = reason
            return true
        }
        // A second signal would end the process at once.
        if isFirst { Signals.raise(Signals.terminate) }
    }

    /// Runs until SIGTERM or SIGINT; a second one ends the process at once. The exit status.
    package func run() -> Int32 {
        defer { Signals.restore() }
        Signals.block()
        var started: [[any Service]] = []
        for chain in chains {
            started.append([])
            for service in chain {
                do {
                    try service.start()
                    started[started.count - 1].append(service)
                } catch {
                    logger.error(
                        "service not started", ["service": .string(service.name), "error": .string("\(error)")])
                    drain(started)
                    return ExitStatus.failed
                }
            }
        }
        let signal = Signals.wait()
        let reason = failure.change { failure in
            failure.isDraining = true
            return failure.reason
        }
        if let reason {
            logger.error("process failed", ["reason": .string(reason)])
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
        return reason == nil ? 0 : 1
    }

    /// The last part of the time is kept for what comes behind the first service of a chain.
    private static let reserve = 0.15

    private func drain(_ chains: [[any Service]]) {
        let begun = ContinuousClock.now
        let (timeout, reserve) = (drainTimeout, ServiceGroup.reserve)
        let threads = chains.map { chain in
            ServiceThread("drain") {
                for (place, service) in chain.enumerated() {
                    let behind = Double(chain.count - 1 - place)
                    service.drain(until: begun + timeout * max(0.1, 1 - reserve * (behind + 1)))
                }
            }
        }
        for thread in threads {
            thread.join()
        }
    }
}
