import Base

/// The figures of one run.
struct BenchmarkReport {
    struct Figure {
        /// The member of the JSON document.
        let name: String
        let value: Double
        let unit: String
        /// What the design asks of it, such as `P2 ≥ 5,000`.
        let wanted: String?
    }

    let scenario: String
    private(set) var figures: [Figure] = []
    private(set) var details: [JSON.Member] = []

    init(_ scenario: String) {
        self.scenario = scenario
    }

    mutating func add(_ name: String, _ value: Double, _ unit: String, wanted: String? = nil) {
        figures.append(Figure(name: name, value: value, unit: unit, wanted: wanted))
    }

    /// Only in the JSON document.
    mutating func detail(_ name: String, _ value: JSON) {
        details.append(JSON.Member(name: name, value: value))
    }

    /// The value of a figure; 0 where there is none.
    subscript(_ name: String) -> Double { figures.first { $0.name == name }?.value ?? 0 }

    var json: JSON {
        let measured = figures.map { JSON.Member(name: $0.name, value: .double($0.value)) }
        return .object([JSON.Member(name: "scenario", value: .string(scenario))] + measured + details)
    }

    /// A table: name, value, unit, what is wanted.
    var text: String {
        let rows = figures.map { figure in
            let name = figure.name.replacing("_", with: " ")
            return [name, BenchmarkReport.number(figure.value), figure.unit, figure.wanted ?? ""]
        }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let blank = String(repeating: " ", count: widths[column] - cell.count)
                return column == 1 ? blank + cell : cell + blank
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
        return ([scenario] + lines.map { "  \($0)" }).joined(separator: "\n")
    }

    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if abs(value) >= 1000 { return grouped(Int64(value.rounded())) }
        let hundredths = Int64((abs(value) * 100).rounded())
        let fraction = hundredths % 100
        return "\(value < 0 ? "-" : "")\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }

    private static func grouped(_ value: Int64) -> String {
        var text = ""
        for (place, digit) in String(abs(value)).reversed().enumerated() {
            if place > 0, place % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (value < 0 ? "-" : "") + String(text.reversed())
    }
}

extension [Double] {
    /// The middle value, or the mean of both; 0 of none.
    var median: Double {
        guard !isEmpty else { return 0 }
        let ordered = sorted()
        let middle = count / 2
        return count % 2 == 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2
    }

    /// The value that this share (0…1) of them does not exceed; 0 of none.
    func percentile(_ share: Double) -> Double {
        guard !isEmpty else { return 0 }
        let place = Int((Double(count) * share).rounded(.up)) - 1
        return sorted()[Swift.min(Swift.max(0, place), count - 1)]
    }
}
