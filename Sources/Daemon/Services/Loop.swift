import Base

/// When a loop runs its step again.
package enum Next: Sendable, Equatable {
    /// At once.
    case again
    /// After this time, or once the loop is woken, but not before `atLeast` is over.
    case after(Duration, atLeast: Duration = .zero)
    /// Once the loop is woken.
    case whenWoken
}

/// A thread that runs a step again and again until it drains: the start, the rests and the end of every service that
/// works in the background.
package final class Loop: Sendable {
    private struct State {
        var isWoken = false
        var isDraining = false
        var isFinished = true
    }

    private let thread: String
    private let state = Monitor(State())

    /// - Parameter thread: as Linux shows the thread, at most 15 bytes.
    package init(_ thread: String) {
        self.thread = thread
    }

    package var isDraining: Bool { state.read { $0.isDraining } }

    /// Starts the thread. The body calls `run`; after that it closes what only the thread uses.
    package func start(_ body: @escaping @Sendable (Loop) -> Void) {
        state.change { $0.isFinished = false }
        _ = ServiceThread(thread) { [self] in
            body(self)
            state.change { $0.isFinished = true }
        }
    }

    /// Runs the step until the loop drains; for the thread of the loop.
    package func run(firstAfter: Duration = .zero, _ step: () -> Next) {
        var next = Next.after(firstAfter)
        while !rest(next) { next = step() }
    }

    /// From any thread: ends a rest early. A wake during a step counts for the rest that follows.
    package func wake() {
        state.change { $0.isWoken = true }
    }

    /// From any thread: no further step begins, and rests end.
    package func beginDraining() {
        state.change { $0.isDraining = true }
    }

    /// Waits for the end of the thread, at most until the deadline; whether it ended. True if it was never started.
    @discardableResult
    package func join(until deadline: ContinuousClock.Instant) -> Bool {
        state.wait(timeout: max(.zero, deadline - .now)) { $0.isFinished ? true : nil } ?? false
    }

    @discardableResult
    package func drain(until deadline: ContinuousClock.Instant) -> Bool {
        beginDraining()
        return join(until: deadline)
    }

    /// Lets time pass within a step, or after the last one while something ends by itself; a wake ends it.
    package func pause(_ duration: Duration) {
        _ = state.wait(timeout: duration, for: Loop.takeWake)
    }

    private static func takeWake(_ state: inout State) -> Bool? {
        defer { state.isWoken = false }
        return state.isWoken ? true : nil
    }

    /// Whether the loop drains.
    private func rest(_ next: Next) -> Bool {
        let isDraining: (inout State) -> Bool? = { $0.isDraining ? true : nil }
        let isDisturbed: (inout State) -> Bool? = { isDraining(&$0) ?? Loop.takeWake(&$0) }
        switch next {
        case .again: break
        case .whenWoken: _ = state.wait(for: isDisturbed)
        case .after(let duration, let least):
            if least > .zero, state.wait(timeout: least, for: isDraining) != nil { return true }
            _ = state.wait(timeout: max(.zero, duration - least), for: isDisturbed)
        }
        return self.isDraining
    }
}
