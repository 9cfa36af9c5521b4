import CLI

/// `Benchmarks tracing`.
struct TracingBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "tracing", "Measure what traces cost ingest and a worker: without, and with each recorded, in turns.")
    static let scenario = BenchmarkScenario.tracing

    @Option("--count", .count, "Distinct notifications; default: 4000.") var count = 4000
    @Option(.connections) var connections = 64
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 3.") var rounds = 3
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, rounds: rounds, bodies: bodies, entitled: Self.daemon(entitled))
    }
}
