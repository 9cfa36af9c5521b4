import Base
import Lifecycle

/// Work that threads take in its order, as much as there is room for.
final class WorkLine<Work: Sendable>: Sendable {
    private struct State {
        var waiting: [Work] = []
        var first = 0
        var busy = 0
        var isEnding = false

        var count: Int { waiting.count - first }
    }

    private let state = Monitor(State())
    private let limit: Int

    /// - Parameter limit: how much waits at most.
    init(limit: Int) {
        self.limit = limit
    }

    /// False where there is no room.
    func add(_ work: Work) -> Bool {
        state.change { state in
            guard state.count < limit else { return false }
            state.waiting.append(work)
            return true
        }
    }

    /// Runs what comes until the line ends and is empty.
    func run(_ body: (Work) -> Void) {
        while let work = take() {
            body(work)
            state.change { $0.busy -= 1 }
        }
    }

    private func take() -> Work? {
        let taken = state.wait { state -> Work?? in
            guard state.count > 0 else { return state.isEnding ? .some(nil) : nil }
            let work = state.waiting[state.first]
            state.first += 1
            if state.first > 1024, state.first * 2 > state.waiting.count {
                state.waiting.removeFirst(state.first)
                state.first = 0
            }
            state.busy += 1
            return .some(work)
        }
        return taken ?? nil
    }

    /// Whether all was done before the deadline; the threads end then.
    func end(until deadline: ContinuousClock.Instant) -> Bool {
        state.change { $0.isEnding = true }
        return state.wait(timeout: max(.zero, deadline - .now)) { $0.count == 0 && $0.busy == 0 ? true : nil } ?? false
    }
}
