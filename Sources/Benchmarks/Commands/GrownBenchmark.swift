import CLI

/// `Benchmarks grown`.
struct GrownBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "grown", "Measure accepting, applying and reading beside very many purchases.",
        discussion: "The default needs about 20 GB below /tmp.")
    static let scenario = BenchmarkScenario.grown

    @Option("--count", .count, "Requests of a round; default: 2000.") var count = 2000
    @Option(.connections) var connections = 64
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 3.") var rounds = 3
    @Option("--purchases", .purchases, "Purchases in all, with ten facts each; default: 5000000.")
    var purchases = 5_000_000
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, rounds: rounds, entitled: Self.daemon(entitled),
            purchases: purchases)
    }
}
