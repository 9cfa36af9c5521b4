import Base
import StoreSimulator

/// What was seen in one stretch of a soak.
struct SoakSample {
    /// Seconds from the beginning to its end.
    var at = 0.0
    var accepted = 0
    var refused = 0
    var accept = LatencyHistogram()
    var record = LatencyHistogram()
    var pending: Int64 = 0
    var held: Int64 = 0
    /// Bytes in memory, by the process; of Postgres what is shared counts once.
    var memory: [(process: String, bytes: Double)] = []

    static func heading(_ processes: [String]) -> String {
        line(
            ["time", "accepted/s", "accept p50", "p99 ms", "record p50", "p99 ms", "pending", "held"]
                + processes.map { "\($0) MB" })
    }

    func line(seconds: Double) -> String {
        let numbers = [
            Double(accepted) / max(0.001, seconds), accept.percentile(0.5), accept.percentile(0.99),
            record.percentile(0.5), record.percentile(0.99), Double(pending), Double(held),
        ]
        let cells = (numbers + memory.map { $0.bytes / 1e6 }).map(BenchmarkReport.number)
        return SoakSample.line(["\(Int(at / 60)):\(Int(at) % 60 < 10 ? "0" : "")\(Int(at) % 60)"] + cells)
    }

    private static func line(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(0, 11 - $0.count)) + $0 }.joined(separator: " ")
    }
}

/// Whether what was measured stays as it is: the last third of a soak against the second.
struct SoakVerdict {
    private(set) var faults: [String] = []
    private(set) var lines: [String] = []

    /// Beside a tenth, memory may differ by this: pages come and go, in bytes.
    private static let memoryGrain = 4e6
    /// Beside a half, a p99 may differ by this: other things run on the machine, in ms.
    private static let latencyGrain = 25.0

    init(_ samples: [SoakSample]) {
        let third = samples.count / 3
        guard third > 0 else {
            faults.append("it was too short to say anything")
            return
        }
        let (second, last) = (samples[third..<samples.count - third], samples.suffix(third))
        for (place, process) in samples[0].memory.map(\.process).enumerated() {
            func mean(_ part: ArraySlice<SoakSample>) -> Double {
                part.reduce(0) { $0 + $1.memory[place].bytes } / Double(part.count)
            }
            judge(
                "memory of \(process)", mean(second) / 1e6, mean(last) / 1e6, "MB",
                bound: (mean(second) * 1.1 + SoakVerdict.memoryGrain) / 1e6)
        }
        for (name, histogram) in [("accepts, p99", \SoakSample.accept), ("records, p99", \SoakSample.record)] {
            func median(_ part: ArraySlice<SoakSample>) -> Double {
                part.map { $0[keyPath: histogram].percentile(0.99) }.median
            }
            judge(
                name, median(second), median(last), "ms", bound: median(second) * 1.5 + SoakVerdict.latencyGrain)
        }
    }

    private mutating func judge(_ name: String, _ second: Double, _ last: Double, _ unit: String, bound: Double) {
        let isFlat = last <= bound
        let (before, after) = (BenchmarkReport.number(second), BenchmarkReport.number(last))
        lines.append("\(name): \(before) \(unit), then \(after) \(unit): \(isFlat ? "flat" : "GREW")")
        if !isFlat { faults.append("\(name) grew from \(before) to \(after) \(unit)") }
    }

    /// One more thing that has to hold.
    mutating func check(_ name: String, _ found: Int64, _ wanted: Int64) {
        lines.append("\(name): \(found) of \(wanted)\(found == wanted ? "" : ": WRONG")")
        if found != wanted { faults.append("\(name): \(found), and it should be \(wanted)") }
    }

    mutating func check(_ name: String, _ isRight: Bool, _ fault: String) {
        lines.append("\(name): \(isRight ? "yes" : "NO")")
        if !isRight { faults.append(fault) }
    }
}
