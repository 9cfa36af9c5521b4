/// An alarm: a Prometheus rule of `deploy/prometheus/entitled.rules.yml`, and the section of the runbook with its name.
package struct Alarm: Sendable {
    package enum Severity: String, Sendable, CaseIterable {
        /// Customers, revenue or webhooks are affected now: it wakes an operator.
        case page
        /// It can wait for office hours.
        case ticket
    }

    /// In upper camel case, as Prometheus' alerts are named.
    package let name: String
    package let severity: Severity
    /// The metrics that the condition reads.
    package let metrics: [Metric]
    /// In PromQL: has a value while the alarm should fire.
    package let condition: String
    /// How long the condition has to hold, as Prometheus spells durations; nil: not at all.
    package let hold: String?
    /// One sentence, with Prometheus' templates for values.
    package let summary: String

    /// - Parameter page: wakes an operator; a ticket otherwise.
    init(
        _ name: String, _ severity: Severity, _ metrics: [Metric], _ condition: String, for hold: String? = nil,
        _ summary: String
    ) {
        (self.name, self.severity, self.metrics) = (name, severity, metrics)
        (self.condition, self.hold, self.summary) = (condition, hold, summary)
    }

    /// The section of the runbook, from the folder of the manual.
    package var runbook: String { "Runbook.md#\(name.lowercased())" }

    /// The condition that a counter grew, by the labels named. Prometheus' `increase` sees no first count, because the
    /// series is not there before: what is there now and was not at the beginning of the time has grown, too.
    ///
    /// - Parameters:
    ///   - selector: labels in PromQL, with their braces.
    ///   - time: as Prometheus spells durations.
    static func grew(_ metric: Metric, _ selector: String = "", by labels: String, in time: String) -> String {
        let series = metric.name + selector
        let sum = labels.isEmpty ? "sum" : "sum by (\(labels))"
        return "\(sum)(increase(\(series)[\(time)])) > 0 or \(sum)(\(series) unless \(series) offset \(time)) > 0"
    }

    /// Runs that failed, and none that succeeded; of a counter with the label `outcome`.
    static func fails(_ metric: Metric, by labels: String, in time: String) -> String {
        func runs(_ outcome: String) -> String {
            #"sum by (\#(labels))(increase(\#(metric.name){outcome="\#(outcome)"}[\#(time)])) > 0"#
        }
        return "\(runs("failed")) unless \(runs("done"))"
    }

    /// The condition that the 99th percentile of a histogram of durations is above a number of seconds.
    static func isSlow(_ metric: Metric, beyond seconds: Int) -> String {
        "histogram_quantile(0.99, sum by (le) (rate(\(metric.name)_bucket[5m]))) > \(seconds)"
    }
}
