import Synchronization

/// The metrics of one process, written in the Prometheus text format (version 0.0.4).
///
/// Labels are bounded: kinds, states and codes, never URLs, ids or texts from outside.
package final class Metrics: Sendable {
    package typealias Labels = [String: String]

    private struct Family {
        let metric: Metric
        var samples: [String: Double] = [:]
        var histograms: [String: HistogramState] = [:]
    }

    private struct HistogramState {
        var buckets: [Int]
        var sum: Double
        var count: Int
    }

    private let families = Mutex<[String: Family]>([:])
    private let collectors = Mutex<[@Sendable (Metrics) -> Void]>([])

    package init() {}

    /// Adds to a counter.
    package func count(_ metric: Metric, _ labels: Labels = [:], by amount: Double = 1) {
        families.withLock { families in
            families[metric.name, default: Family(metric: metric)].samples[Metrics.text(labels), default: 0] += amount
        }
    }

    package func gauge(_ metric: Metric, _ value: Double, _ labels: Labels = [:]) {
        families.withLock { families in
            families[metric.name, default: Family(metric: metric)].samples[Metrics.text(labels)] = value
        }
    }

    /// Puts a duration into a histogram; its name ends in `_seconds`.
    package func observe(_ metric: Metric, _ duration: Duration, _ labels: Labels = [:]) {
        observe(
            metric, Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18, labels)
    }

    package func observe(_ metric: Metric, _ value: Double, _ labels: Labels = [:]) {
        guard case .histogram(let bounds) = metric.kind else { return }
        families.withLock { families in
            let key = Metrics.text(labels)
            var state =
                families[metric.name]?.histograms[key]
                ?? HistogramState(buckets: Array(repeating: 0, count: bounds.count), sum: 0, count: 0)
            for (index, bound) in bounds.enumerated() where value <= bound {
                state.buckets[index] += 1
            }
            state.sum += value
            state.count += 1
            families[metric.name, default: Family(metric: metric)].histograms[key] = state
        }
    }

    /// Runs before each exposition, for values that are read rather than counted.
    package func collect(_ collector: @escaping @Sendable (Metrics) -> Void) {
        collectors.withLock { $0.append(collector) }
    }

    package func exposition() -> String {
        for collector in collectors.withLock({ $0 }) {
            collector(self)
        }
        var text = ""
        for (name, family) in families.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            text += "# HELP \(name) \(Metrics.escaped(family.metric.meaning, quotes: false))\n"
            text += "# TYPE \(name) \(family.metric.kind.name)\n"
            for (labels, value) in family.samples.sorted(by: { $0.key < $1.key }) {
                text += "\(name)\(Metrics.braced(labels)) \(Metrics.number(value))\n"
            }
            guard case .histogram(let bounds) = family.metric.kind else { continue }
            for (labels, state) in family.histograms.sorted(by: { $0.key < $1.key }) {
                let separator = labels.isEmpty ? "" : ","
                for (bound, count) in zip(bounds, state.buckets) {
                    text += "\(name)_bucket{\(labels)\(separator)le=\"\(Metrics.number(bound))\"} \(count)\n"
                }
                text += "\(name)_bucket{\(labels)\(separator)le=\"+Inf\"} \(state.count)\n"
                text += "\(name)_sum\(Metrics.braced(labels)) \(Metrics.number(state.sum))\n"
                text += "\(name)_count\(Metrics.braced(labels)) \(state.count)\n"
            }
        }
        return text
    }

    private static func text(_ labels: Labels) -> String {
        labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value, quotes: true))\"" }
            .joined(separator: ",")
    }

    /// Backslashes and line ends, in labels also quotes.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        return quotes ? escaped.replacing("\"", with: "\\\"") : escaped
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }
}
