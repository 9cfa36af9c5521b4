import Base

/// What a play sent and what came back.
package struct PlayReport: Sendable {
    /// Requests made, repetitions and further attempts included.
    package internal(set) var requests = 0
    /// Deliveries that were accepted in the end.
    package internal(set) var accepted = 0
    /// Deliveries that were never accepted.
    package internal(set) var failed = 0
    /// Requests by answer: `200 accepted`, `403 untrusted`, `no answer: timed out`.
    package internal(set) var answers: [String: Int] = [:]
    /// Of answered requests; in a paced play from when each was due.
    package internal(set) var latencies = LatencyHistogram()
    /// When the first request began and the last answer came.
    var began: ContinuousClock.Instant?
    var ended: ContinuousClock.Instant?

    /// From the first request to the last answer.
    package var elapsed: Duration {
        guard let began, let ended else { return .zero }
        return began.duration(to: ended)
    }

    /// Requests in a second.
    package var rate: Double { elapsed > .zero ? Double(requests) / elapsed.seconds : 0 }

    mutating func add(_ other: PlayReport) {
        requests += other.requests
        accepted += other.accepted
        failed += other.failed
        answers.merge(other.answers, uniquingKeysWith: +)
        latencies.add(other.latencies)
        began = [began, other.began].compactMap(\.self).min()
        ended = [ended, other.ended].compactMap(\.self).max()
    }

    package var json: JSON {
        let sorted = answers.sorted { $0.key < $1.key }
        return .object([
            "requests": .int(Int64(requests)), "accepted": .int(Int64(accepted)), "failed": .int(Int64(failed)),
            "answers": .object(sorted.map { JSON.Member(name: $0.key, value: .int(Int64($0.value))) }),
            "seconds": .double(PlayReport.rounded(elapsed.seconds)),
            "requests_per_second": .double(PlayReport.rounded(rate)),
            "p50_ms": .double(PlayReport.rounded(latencies.percentile(0.5))),
            "p99_ms": .double(PlayReport.rounded(latencies.percentile(0.99))),
            "max_ms": .double(PlayReport.rounded(latencies.longest.seconds * 1000)),
        ])
    }

    /// A few lines for people.
    package var text: String {
        var lines = ["\(requests) requests in \(PlayReport.number(elapsed.seconds)) s, \(PlayReport.number(rate))/s"]
        for (answer, count) in answers.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            lines.append("  \(count) × \(answer)")
        }
        if latencies.count > 0 {
            let (half, most) = (latencies.percentile(0.5), latencies.percentile(0.99))
            let longest = latencies.longest.seconds * 1000
            lines.append(
                "p50 \(PlayReport.number(half)) ms, p99 \(PlayReport.number(most)) ms, longest \(PlayReport.number(longest)) ms"
            )
        }
        lines.append(failed == 0 ? "all accepted" : "\(failed) never accepted")
        return lines.joined(separator: "\n")
    }

    /// To thousandths.
    static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    /// One decimal below a hundred, none above.
    static func number(_ value: Double) -> String {
        let tenths = Int64((value * 10).rounded())
        return value < 100 ? "\(tenths / 10).\(tenths % 10)" : "\(Int64(value.rounded()))"
    }
}
