import CLI

/// `Benchmarks waiting`.
struct WaitingBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "waiting", "Measure a worker's memory with very many pending deliveries.")
    static let scenario = BenchmarkScenario.waiting

    @Option("--backlog", .waiting, "Pending deliveries; default: 0.") var backlog = 0
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(bodies: bodies, entitled: Self.daemon(entitled), backlog: backlog)
    }
}
