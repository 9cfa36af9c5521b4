import Base
import Synchronization

/// Collects spans of the traces that are recorded, until an exporter takes them. Never waits, and never holds more than its
/// limit: what does not fit is dropped and counted.
package final class Tracer: Sendable {
    /// Spans that wait at most; about 10 MB.
    package static let limit = 16_384

    /// Records nothing, for the price of a comparison.
    package static let off = Tracer(sample: 0, metrics: nil)

    private struct State {
        var waiting: [Span] = []
        var dropped = 0
    }

    /// Traces whose randomness is at least this are recorded; of 56 bits.
    private let threshold: UInt64
    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter sample: share of the traces that is recorded, 0 to 1.
    package init(sample: Double, limit: Int = Tracer.limit, metrics: Metrics?) {
        let all = Double(UInt64(1) << 56)
        threshold = sample >= 1 ? 0 : sample > 0 ? UInt64(((1 - sample) * all).rounded()) : .max
        self.limit = limit
        for outcome in ["exported", "dropped", "failed"] {
            metrics?.count(.spans, ["outcome": outcome], by: 0)
        }
        // Counted when it is asked for: the lock of the metrics is shared by all threads.
        metrics?.collect { [weak self] metrics in
            guard let dropped = self?.takeDropped(), dropped > 0 else { return }
            metrics.count(.spans, ["outcome": "dropped"], by: Double(dropped))
        }
    }

    /// Whether any trace is.
    package var isOn: Bool { threshold != .max }

    /// Whether the spans of a trace are recorded: alike in every process with the same share.
    package func records(_ trace: TraceID) -> Bool { isOn && trace.randomness >= threshold }

    /// Only what `records` said yes to.
    package func record(_ spans: [Span]) {
        state.withLock { state in
            let fitting = max(0, min(spans.count, limit - state.waiting.count))
            state.waiting += spans.prefix(fitting)
            state.dropped += spans.count - fitting
        }
    }

    package func record(_ span: Span) { record([span]) }

    package var count: Int { state.withLock { $0.waiting.count } }

    /// The oldest, which are then the taker's.
    package func take(atMost count: Int) -> [Span] {
        state.withLock { state in
            let taken = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(taken.count)
            return taken
        }
    }

    private func takeDropped() -> Int {
        state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }
}
