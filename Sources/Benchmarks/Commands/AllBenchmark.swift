import Base
import CLI
import TestSupport

/// `Benchmarks all`: P1 to P11 in one table.
struct AllBenchmark: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        "all", "Measure P1 to P11 one after the other, and print one table: measure, method, value, target.",
        examples: ["all --quick"])

    @Option(.connections) var connections = 64
    @Option("--rounds", .rounds, "Rounds of `verify`, of which the median counts; default: 5.") var rounds = 5
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.statements) var statements
    @Flag(.quick) var quick
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            connections: connections, rounds: rounds, bodies: bodies, entitled: Self.daemon(entitled),
            statements: statements, quick: quick)
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        let table = try TemporaryFolder.with { try WholeMeasurement(options, folder: $0).run() }
        terminal.print(json ? table.json.text : table.text)
        return 0
    }
}
