import Lifecycle
import Synchronization
import Telemetry

/// A server's numbers, read when somebody asks for the metrics.
enum HTTPServerMetrics {
    private struct Seen {
        var requests = 0
        var refusals = 0
        var cuts = 0
        var turnedAway = 0
    }

    static func collect(_ core: ServerCore, into metrics: Metrics) {
        let seen = Mutex(Seen())
        let labels = ["role": core.configuration.role]
        metrics.collect { metrics in
            metrics.gauge(
                "entitled_http_connections", "Open connections.", labels, Double(core.connections.read { $0.count }))
            seen.withLock { seen in
                func add(_ name: String, _ help: String, _ counter: borrowing Atomic<Int>, _ before: inout Int) {
                    let value = counter.load(ordering: .relaxed)
                    metrics.count(name, help, labels, by: Double(value - before))
                    before = value
                }
                add("entitled_http_requests_total", "Requests whose head was read.", core.requests, &seen.requests)
                add(
                    "entitled_http_malformed_total", "Requests refused as ambiguous or malformed.", core.refusals,
                    &seen.refusals)
                add(
                    "entitled_http_timeouts_total", "Connections cut because a deadline passed.", core.cuts, &seen.cuts)
                add(
                    "entitled_http_turned_away_total", "Connections closed because there were too many.",
                    core.turnedAway, &seen.turnedAway)
            }
        }
    }
}
