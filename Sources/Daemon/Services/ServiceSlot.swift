import Base

/// Services that depend on each other: they start in order, and drain in order.
enum ServiceChain {
    /// The last part of the time is kept for what comes behind the first service of a chain.
    private static let reserve = 0.15

    /// Drains each service of the chain in its order, and those of a slot in its place.
    static func drain(_ chain: [any Service], begun: ContinuousClock.Instant, timeout: Duration) {
        let services = chain.flatMap { ($0 as? ServiceSlot)?.close() ?? [$0] }
        end(services, begun, timeout) { $0.drain(until: $1) }
    }

    /// The same for services whose place others have taken.
    static func retire(_ services: [any Service], timeout: Duration) {
        end(services, .now, timeout) { $0.retire(until: $1) }
    }

    private static func end(
        _ services: [any Service], _ begun: ContinuousClock.Instant, _ timeout: Duration,
        _ end: (any Service, ContinuousClock.Instant) -> Void
    ) {
        for (place, service) in services.enumerated() {
            let behind = Double(services.count - 1 - place)
            end(service, begun + timeout * max(0.1, 1 - reserve * (behind + 1)))
        }
    }

    /// Starts each service in order; where one fails, those before it are drained.
    static func start(_ services: [any Service], drainTimeout: Duration) throws {
        for (place, service) in services.enumerated() {
            do {
                try service.start()
            } catch {
                drain(Array(services[..<place]), begun: .now, timeout: drainTimeout)
                throw error
            }
        }
    }
}

/// Services in a chain whose place others can take while the process runs.
package final class ServiceSlot: Service {
    package let name: String
    private let drainTimeout: Duration

    private struct State {
        var services: [any Service]
        /// Whether the process ends, so that nothing takes their place any more.
        var isClosed = false
        /// Replacements whose former services are still draining.
        var draining = 0
    }

    private let state: Monitor<State>

    package init(_ name: String, _ services: [any Service], drainTimeout: Duration) {
        self.name = name
        self.drainTimeout = drainTimeout
        state = Monitor(State(services: services))
    }

    package func start() throws {
        try ServiceChain.start(state.read { $0.services }, drainTimeout: drainTimeout)
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        ServiceChain.drain(close(), begun: .now, timeout: max(.zero, deadline - .now))
    }

    /// Starts other services and has work go to them. The former ones are left to the caller, who may have more to replace
    /// before it waits for their end.
    ///
    /// - Parameter handOver: runs when the new services are at work and the former ones still are.
    /// - Returns: what drains the former services, to be called once; nil where the process ends: then nothing has changed.
    /// - Throws: what keeps one of the new services from starting; the former ones go on then.
    package func replace(with services: [any Service], handOver: () -> Void) throws -> (@Sendable () -> Void)? {
        try ServiceChain.start(services, drainTimeout: drainTimeout)
        let former = state.change { state -> [any Service]? in
            guard !state.isClosed else { return nil }
            defer { state.services = services }
            state.draining += 1
            return state.services
        }
        guard let former else {
            ServiceChain.drain(services, begun: .now, timeout: drainTimeout)
            return nil
        }
        handOver()
        return { [self] in
            ServiceChain.retire(former, timeout: drainTimeout)
            state.change { $0.draining -= 1 }
        }
    }

    /// The services, whose place nothing takes any more.
    func close() -> [any Service] {
        state.change { state in
            state.isClosed = true
            return state.services
        }
    }

    /// Waits until services that were replaced have ended, at most until the deadline.
    func awaitFormer(until deadline: ContinuousClock.Instant) {
        _ = state.wait(timeout: max(.zero, deadline - .now)) { $0.draining == 0 ? true : nil }
    }
}
