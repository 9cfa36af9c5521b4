import Base
import Synchronization
import Telemetry

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
        metrics.count("entitled_http_client_requests_total", "Outgoing requests that ended.", ["outcome": label])
        metrics.observe(
            "entitled_http_client_request_seconds", "Time of outgoing requests, name lookup included.", [:],
            .milliseconds(milliseconds))
    }
}
