import Daemon
import Synchronization

/// A server's numbers, read when the metrics are scraped.
enum HTTPServerMetrics {
    private struct Seen {
        var requests = 0
        var refusals = 0
        var cuts = 0
        var turnedAway = 0
        var unanswered = 0
    }

    static func collect(_ core: ServerCore, into metrics: Metrics) {
        let seen = Mutex(Seen())
        let labels = ["role": core.configuration.role]
        metrics.collect { metrics in
            metrics.gauge(.connections, Double(core.connections.read { $0.count }), labels)
            seen.withLock { seen in
                func add(_ metric: Metric, _ counter: borrowing Atomic<Int>, _ before: inout Int) {
                    let value = counter.load(ordering: .relaxed)
                    metrics.count(metric, labels, by: Double(value - before))
                    before = value
                }
                add(.requests, core.requests, &seen.requests)
                add(.malformed, core.refusals, &seen.refusals)
                add(.timeouts, core.cuts, &seen.cuts)
                add(.turnedAway, core.turnedAway, &seen.turnedAway)
                add(.unanswered, core.unanswered, &seen.unanswered)
            }
        }
    }
}
