import Synchronization

/// What other threads hand to the loop.
final class TransferInbox: Sendable {
    enum Command: Sendable {
        case begin(Submission)
        case resolved(Int, Resolution)
    }

    private struct State {
        var commands: [Command] = []
        var stopping = false
        /// Nothing is taken any more.
        var ended = false
    }

    private let state = Mutex(State())

    /// Whether it was taken, and whether it is the only one: then the loop must be woken.
    func post(_ command: Command) -> (taken: Bool, first: Bool) {
        state.withLock { state in
            guard !state.ended else { return (false, false) }
            state.commands.append(command)
            return (true, state.commands.count == 1)
        }
    }

    func stop() {
        state.withLock { $0.stopping = true }
    }

    /// Everything that was posted, and whether the loop is to end.
    func take() -> (commands: [Command], stopping: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            return (state.commands, state.stopping)
        }
    }

    /// Takes nothing any more; what was submitted and not begun.
    func close() -> [Submission] {
        state.withLock { state in
            state.ended = true
            defer { state.commands = [] }
            return state.commands.compactMap { if case .begin(let submission) = $0 { submission } else { nil } }
        }
    }
}
