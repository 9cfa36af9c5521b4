import Base
import Synchronization

/// Logs a failure that may come many times a second: at once when it is another than before, else twice a minute with
/// the number of those in between.
package final class RepeatedFailure: Sendable {
    private struct State {
        var text = ""
        var told = ContinuousClock.now
        var count = 0
    }

    private static let interval = Duration.seconds(30)
    private let state = Mutex(State())

    package init() {}

    package func note(_ message: String, _ error: any Error, count: Int, _ logger: Logger) {
        let text = "\(error)"
        let toTell: Int? = state.withLock { state in
            state.count += count
            guard text != state.text || ContinuousClock.now - state.told > RepeatedFailure.interval else { return nil }
            defer { state = State(text: text, told: ContinuousClock.now, count: 0) }
            return state.count
        }
        guard let toTell else { return }
        logger.warning(message, ["count": .int(Int64(toTell)), "error": .string(text)])
    }
}
