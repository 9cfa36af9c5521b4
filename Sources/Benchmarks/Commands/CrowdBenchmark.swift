import CLI

/// `Benchmarks crowd`.
struct CrowdBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "crowd", "Measure fresh customers beside many purchases with long histories.")
    static let scenario = BenchmarkScenario.crowd

    @Option(.connections) var connections = 64
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 3.") var rounds = 3
    @Option("--facts", .facts, "Facts of a purchase with a long history; default: 10000.") var facts = 10_000
    @Option("--purchases", .purchases, "Purchases with a long history; default: 256.") var purchases = 256
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            connections: connections, rounds: rounds, entitled: Self.daemon(entitled), facts: facts,
            purchases: purchases)
    }
}
