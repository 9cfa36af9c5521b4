import Base
import FoundationEssentials
import Glibc

/// All figures of a whole measurement: what, how, the value, and what is asked for.
struct BenchmarkTable {
    struct Row {
        let name: String
        let measure: String
        let method: String
        let value: Double
        let unit: String
        /// `≥` or `≤` and a number; nil where nothing is asked for.
        let target: Target?
    }

    enum Target {
        case least(Double)
        case most(Double)

        var text: String {
            switch self {
            case .least(let bound): "≥ \(BenchmarkReport.number(bound))"
            case .most(let bound): "≤ \(BenchmarkReport.number(bound))"
            }
        }

        func isMet(by value: Double) -> Bool {
            switch self {
            case .least(let bound): value >= bound
            case .most(let bound): value <= bound
            }
        }
    }

    private(set) var rows: [Row] = []
    private var reports: [(name: String, report: BenchmarkReport)] = []

    mutating func add(
        _ name: String, _ measure: String, _ value: Double, _ unit: String, _ target: Target? = nil, method: String
    ) {
        rows.append(
            Row(name: name, measure: measure, method: method, value: value, unit: unit, target: target))
    }

    mutating func keep(_ name: String, _ report: BenchmarkReport) {
        reports.append((name, report))
    }

    var json: JSON {
        let figures = rows.map { row in
            JSON.object([
                "name": .string(row.name), "measure": .string(row.measure), "method": .string(row.method),
                "value": .double(row.value), "unit": .string(row.unit), "target": .text(row.target?.text),
                "met": row.target.map { .bool($0.isMet(by: row.value)) } ?? .null,
            ])
        }
        let each = reports.map { JSON.Member(name: $0.name, value: $0.report.json) }
        return .object(["machine": .string(Self.machine), "figures": .array(figures), "runs": .object(each)])
    }

    /// In Markdown.
    var text: String {
        let lines = rows.map { row in
            let verdict = row.target.map { $0.isMet(by: row.value) ? "met" : "**not met**" } ?? ""
            return """
                | \(row.name) | \(row.measure) | \(row.method) | \(BenchmarkReport.number(row.value)) \(row.unit) \
                | \(row.target?.text ?? "") | \(verdict) |
                """
        }
        return ([Self.machine, "", "| | measure | method | value | target | |", "|---|---|---|---|---|---|"] + lines)
            .joined(separator: "\n")
    }

    private static var machine: String {
        let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { String($0.drop { $0 == " " }) }
        let load = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first
        return """
            \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) × \(model ?? "a processor"); Postgres, daemons and load generator on it; \
            load at the end \(load ?? "unknown")
            """
    }
}
