import Base
import CLI
import TestSupport

/// `Benchmarks sender`: `send`, `waiting` and `neighbours` in one table.
struct SenderBenchmark: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        "sender", "Measure sending alone: speed, memory, and whether bad consumers delay good ones; one table.",
        examples: ["sender --quick"])

    @Option(.connections) var connections = 64
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.quick) var quick
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            connections: connections, bodies: bodies, entitled: Self.daemon(entitled), quick: quick)
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        let table = try TemporaryFolder.with { try SenderMeasurement(options, folder: $0).run() }
        terminal.print(json ? table.json.text : table.text)
        return 0
    }
}
