import Daemon

/// Decides when a person is told that an answer has been missing for long: once after a while, then once an hour.
final class ReminderSchedule: Sendable {
    private struct State {
        /// When the first answer began to be missing; nil while none is.
        var since: ContinuousClock.Instant?
        var told: ContinuousClock.Instant?
    }

    private static let interval = Duration.seconds(3600)
    private let patience: Duration
    private let state = Monitor(State())

    init(patience: Duration) {
        self.patience = patience
    }

    /// Whether to tell now that an answer is missing; then not again for an hour, even if it comes in between.
    func isDue(missing: Bool, at now: ContinuousClock.Instant) -> Bool {
        state.change { state in
            guard missing else {
                state.since = nil
                return false
            }
            let since = state.since ?? now
            state.since = since
            guard now - since >= patience else { return false }
            if let told = state.told, now - told < ReminderSchedule.interval { return false }
            state.told = now
            return true
        }
    }
}
