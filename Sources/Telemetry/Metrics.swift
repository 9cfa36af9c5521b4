import Synchronization

/// The metrics of one process, written in the Prometheus text format (version 0.0.4).
///
/// Labels are bounded: kinds, states and codes, never URLs, ids or texts from outside.
package final class Metrics: Sendable {
    package typealias Labels = [String: String]

    private struct Family {
        let help: String
        let type: String
        var samples: [String: Double] = [:]
        var histograms: [String: HistogramState] = [:]
    }

    private struct HistogramState {
        var buckets: [Int]
        var sum: Double
        var count: Int
    }

    /// Upper bounds in seconds.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

    private let families = Mutex<[String: Family]>([:])
    private let collectors = Mutex<[@Sendable (Metrics) -> Void]>([])

    package init() {}

    /// Adds to a counter; its name ends in `_total`.
    package func count(_ name: String, _ help: String, _ labels: Labels = [:], by amount: Double = 1) {
        families.withLock { families in
            families[name, default: Family(help: help, type: "counter")].samples[Metrics.text(labels), default: 0] +=
                amount
        }
    }

    package func gauge(_ name: String, _ help: String, _ labels: Labels = [:], _ value: Double) {
        families.withLock { families in
            families[name, default: Family(help: help, type: "gauge")].samples[Metrics.text(labels)] = value
        }
    }

    /// Puts a duration into a histogram; its name ends in `_seconds`.
    package func observe(_ name: String, _ help: String, _ labels: Labels = [:], _ duration: Duration) {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        families.withLock { families in
            let key = Metrics.text(labels)
            var family = families[name] ?? Family(help: help, type: "histogram")
            var state =
                family.histograms[key]
                ?? HistogramState(buckets: Array(repeating: 0, count: Metrics.bounds.count), sum: 0, count: 0)
            for (index, bound) in Metrics.bounds.enumerated() where seconds <= bound {
                state.buckets[index] += 1
            }
            state.sum += seconds
            state.count += 1
            family.histograms[key] = state
            families[name] = family
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
            text += "# HELP \(name) \(family.help)\n# TYPE \(name) \(family.type)\n"
            for (labels, value) in family.samples.sorted(by: { $0.key < $1.key }) {
                text += "\(name)\(Metrics.braced(labels)) \(Metrics.number(value))\n"
            }
            for (labels, state) in family.histograms.sorted(by: { $0.key < $1.key }) {
                let separator = labels.isEmpty ? "" : ","
                for (bound, count) in zip(Metrics.bounds, state.buckets) {
                    text += "\(name)_bucket{\(labels)\(separator)le=\"\(Metrics.number(bound))\"} \(count)\n"
                }
                text += "\(name)_bucket{\(labels)\(separator)le=\"+Inf\"} \(state.count)\n"
                text += "\(name)_sum\(Metrics.braced(labels)) \(state.sum)\n"
                text += "\(name)_count\(Metrics.braced(labels)) \(state.count)\n"
            }
        }
        return text
    }

    private static func text(_ labels: Labels) -> String {
        labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }.joined(separator: ",")
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }
}
