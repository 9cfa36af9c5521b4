import CLI

/// `Benchmarks neighbours`.
struct NeighboursBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "neighbours", "Measure whether slow and dead consumers delay healthy ones.")
    static let scenario = BenchmarkScenario.neighbours

    @Option("--count", .count, "Distinct notifications; default: 20000.") var count = 20_000
    @Option(.connections) var connections = 64
    @Option(.rate) var rate = 0
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 5.") var rounds = 5
    @Option("--endpoints", .integer(1...1000, "N"), "Healthy consumers; default: 100.") var endpoints = 100
    @Option("--backlog", .waiting, "Pending deliveries of the slow consumer; default: 0.") var backlog = 0
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, rate: Double(rate), rounds: rounds, bodies: bodies,
            entitled: Self.daemon(entitled), backlog: backlog, endpoints: endpoints)
    }
}
