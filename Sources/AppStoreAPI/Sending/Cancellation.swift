import Synchronization

/// Ends calls from another thread, as when a process drains. One may serve many calls; it cannot be taken back.
package final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var watchers: [UInt64: @Sendable () -> Void] = [:]
        var issued: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func cancel() {
        let watchers = state.withLock { state in
            state.isCancelled = true
            return state.watchers.values.map { $0 }
        }
        for watcher in watchers {
            watcher()
        }
    }

    /// Calls `watcher` on the thread that cancels; wake up only. The number is for `forget`.
    package func onCancel(_ watcher: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.issued &+= 1
            state.watchers[state.issued] = watcher
            return state.issued
        }
    }

    package func forget(_ number: UInt64) {
        state.withLock { _ = $0.watchers.removeValue(forKey: number) }
    }
}
