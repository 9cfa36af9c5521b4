import Daemon

/// Work on a thread of its own, whose result a test waits for.
package final class TestThread<Value: Sendable>: Sendable {
    private let outcome = Monitor<Result<Value, any Error>?>(nil)

    package init(_ body: @escaping @Sendable () throws -> Value) {
        _ = ServiceThread("test") { [outcome] in
            let result = Result { try body() }
            outcome.change { $0 = result }
        }
    }

    /// What the work gave or threw; fails if it does not end in time.
    package func value(timeout: Duration = .seconds(30)) throws -> Value {
        guard let result = outcome.wait(timeout: timeout, for: { $0 }) else {
            throw TestFailure("a thread did not end within \(timeout)")
        }
        return try result.get()
    }

    package var hasEnded: Bool { outcome.read { $0 != nil } }
}

/// A gate that threads wait at until a test opens it.
package final class Gate: Sendable {
    private let state = Monitor((isOpen: false, waiting: 0))

    package init() {}

    package func open() {
        state.change { $0.isOpen = true }
    }

    package func close() {
        state.change { $0.isOpen = false }
    }

    /// Returns at once where the gate is open, and after a minute in any case.
    package func pass() {
        guard !state.read({ $0.isOpen }) else { return }
        state.change { $0.waiting += 1 }
        _ = state.wait(timeout: .seconds(60)) { $0.isOpen ? true : nil }
        state.change { $0.waiting -= 1 }
    }

    /// How many threads stand at the gate.
    package var holding: Int { state.read { $0.waiting } }

    /// Whether somebody stands at the gate.
    package var isHolding: Bool { state.read { $0.waiting > 0 } }
}
