import Base

/// The services of a process, in chains: started in order; at the end all chains drain at the same time, each in its
/// order, so that what takes work in ends first, and no chain waits for another.
package final class ServiceGroup: Sendable {
    private let chains: [[any Service]]
    private let drainTimeout: Duration
    private let drainDelay: Duration
    private let logger: Logger
    private let leaving: @Sendable () -> Void
    private let failure = Monitor<(reason: String?, isDraining: Bool)>((nil, false))

    /// - Parameters:
    ///   - drainTimeout: from the beginning of the drain to the end of the process.
    ///   - drainDelay: from the signal to the beginning of the drain.
    ///   - leaving: is called on the signal, before the delay.
    package init(
        _ chains: [[any Service]], drainTimeout: Duration, drainDelay: Duration = .zero, logger: Logger,
        leaving: @escaping @Sendable () -> Void = {}
    ) {
        self.chains = chains
        self.drainTimeout = drainTimeout
        self.drainDelay = drainDelay
        self.logger = logger
        self.leaving = leaving
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
            logger.notice(
                "draining",
                [
                    "signal": .string(signal), "timeout_ms": .int(drainTimeout.milliseconds),
                    "delay_ms": drainDelay > .zero ? .int(drainDelay.milliseconds) : nil,
                ])
        }
        let second = ServiceThread("second-signal") {
            _ = Signals.wait()
            Signals.endNow()
        }
        leaving()
        if reason == nil { pause(drainDelay) }
        drain(started)
        _ = second
        logger.notice("ended")
        return reason == nil ? 0 : 1
    }

    private func pause(_ duration: Duration) {
        guard duration > .zero else { return }
        _ = Monitor(()).wait(timeout: duration) { _ in Bool?.none }
    }

    private func drain(_ chains: [[any Service]]) {
        let begun = ContinuousClock.now
        let timeout = drainTimeout
        let threads = chains.map { chain in
            ServiceThread("drain") { ServiceChain.drain(chain, begun: begun, timeout: timeout) }
        }
        for thread in threads {
            thread.join()
        }
        for case let slot as ServiceSlot in chains.joined() {
            slot.awaitFormer(until: begun + timeout)
        }
    }
}
