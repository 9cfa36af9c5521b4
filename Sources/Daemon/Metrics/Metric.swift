/// The declaration of a metric: its name and its meaning. `Metric.all` has every one; `Alarm.all` says which alarms read it.
package struct Metric: Sendable {
    package enum Kind: Sendable, Equatable {
        /// Only grows; its name ends in `_total`.
        case counter
        case gauge
        /// With the upper bounds of its buckets, in the metric's unit.
        case histogram([Double])

        package var name: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    package let name: String
    package let kind: Kind
    /// Bounded in their values: kinds, states and codes.
    package let labels: [String]
    /// One sentence.
    package let meaning: String

    package init(_ name: String, _ kind: Kind, labels: [String] = [], _ meaning: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.meaning = meaning
    }

    /// A row of the manual's table, `EntitledApp.docc/Metrics.md`.
    package var row: String {
        let names = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
        let alarms = Alarm.all.filter { alarm in alarm.metrics.contains { $0.name == name } }
        let links = alarms.map { "[\($0.name)](\($0.runbook))" }.joined(separator: ", ")
        return "| `\(name)\(names)` | \(kind.name) | \(meaning) | \(links) |"
    }

    /// Of durations in seconds.
    package static let seconds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]
    /// Of numbers of things.
    package static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
}
