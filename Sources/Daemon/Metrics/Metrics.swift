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
        var sum = 0.0
        var count = 0

        init(_ bounds: [Double]) {
            buckets = Array(repeating: 0, count: bounds.count)
        }

        mutating func add(_ value: Double, _ bounds: [Double]) {
            for (index, bound) in bounds.enumerated() where value <= bound {
                buckets[index] += 1
            }
            sum += value
            count += 1
        }
    }

    private let families = Mutex<[String: Family]>([:])
    private let collectors = Mutex<[@Sendable (Metrics) -> Void]>([])

    package init() {}

    /// Adds to a counter.
    package func count(_ metric: Metric, _ labels: Labels = [:], by amount: Double = 1) {
        // Before the lock, which all threads share.
        let key = Metrics.text(labels)
        families.withLock { families in
            families[metric.name, default: Family(metric: metric)].samples[key, default: 0] += amount
        }
    }

    /// Has a counter there from now on, at 0 where it was not: a rate or an increase sees nothing of a first value.
    package func begin(_ metric: Metric, _ labels: Labels = [:]) { count(metric, labels, by: 0) }

    /// The same for a gauge, whose value stays.
    package func beginGauge(_ metric: Metric, _ labels: Labels = [:]) { count(metric, labels, by: 0) }

    /// The same for a histogram.
    package func beginHistogram(_ metric: Metric, _ labels: Labels = [:]) {
        guard case .histogram(let bounds) = metric.kind else { return }
        let key = Metrics.text(labels)
        families.withLock { families in
            let histograms = families[metric.name]?.histograms ?? [:]
            guard histograms[key] == nil else { return }
            families[metric.name, default: Family(metric: metric)].histograms[key] = HistogramState(bounds)
        }
    }

    package func gauge(_ metric: Metric, _ value: Double, _ labels: Labels = [:]) {
        let key = Metrics.text(labels)
        families.withLock { families in
            families[metric.name, default: Family(metric: metric)].samples[key] = value
        }
    }

    /// Sets a counter that is counted elsewhere, and only grows there.
    package func total(_ metric: Metric, _ value: Double, _ labels: Labels = [:]) { gauge(metric, value, labels) }

    /// Takes away all values of a gauge that this process does not know any more.
    package func remove(_ metric: Metric) {
        families.withLock { $0[metric.name] = nil }
    }

    /// Puts a duration into a histogram; its name ends in `_seconds`.
    package func observe(_ metric: Metric, _ duration: Duration, _ labels: Labels = [:]) {
        observe(
            metric, Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18, labels)
    }

    package func observe(_ metric: Metric, _ value: Double, _ labels: Labels = [:]) {
        guard case .histogram(let bounds) = metric.kind else { return }
        let key = Metrics.text(labels)
        families.withLock { families in
            families[metric.name, default: Family(metric: metric)]
                .histograms[key, default: HistogramState(bounds)].add(value, bounds)
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

    /// For every request and every webhook: it has to cost next to nothing.
    private static func text(_ labels: Labels) -> String {
        guard !labels.isEmpty else { return "" }
        var text = ""
        for (name, value) in labels.sorted(by: { $0.key < $1.key }) {
            if !text.isEmpty { text += "," }
            text += name
            text += "=\""
            text += escaped(value, quotes: true)
            text += "\""
        }
        return text
    }

    private static let backslash = UInt8(ascii: "\\")
    private static let quote = UInt8(ascii: "\"")
    private static let lineEnd = UInt8(ascii: "\n")

    /// Backslashes and line ends, in labels also quotes.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        func isPlain(_ byte: UInt8) -> Bool { byte != backslash && byte != lineEnd && !(quotes && byte == quote) }
        if text.utf8.allSatisfy(isPlain) { return text }
        let escaped = text.utf8.flatMap { byte -> [UInt8] in
            isPlain(byte) ? [byte] : [backslash, byte == lineEnd ? UInt8(ascii: "n") : byte]
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }
}
