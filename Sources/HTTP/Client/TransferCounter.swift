import Base
import Daemon
import Synchronization

/// How many transfers are open, and how those that ended did.
final class TransferCounter: Sendable {
    private let open = Atomic<Int>(0)
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
    }

    var inFlight: Int { open.load(ordering: .relaxed) }

    func begin() {
        open.add(1, ordering: .relaxed)
    }

    func end(_ outcome: TransferOutcome) {
        open.subtract(1, ordering: .relaxed)
        let (label, milliseconds) =
            switch outcome {
            case .response(let response): ("status_\(response.status / 100)xx", response.milliseconds)
            case .failure(let failure): (failure.kind.rawValue, failure.milliseconds)
            }
        metrics.count(.clientRequests, ["outcome": label])
        metrics.observe(.clientRequestSeconds, .milliseconds(milliseconds))
    }
}
