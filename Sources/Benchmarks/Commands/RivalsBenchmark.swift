import CLI

/// `Benchmarks rivals`.
struct RivalsBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "rivals", "Measure apps that post receipts while one address and one Apple account do their worst.")
    static let scenario = BenchmarkScenario.rivals

    @Option("--count", .count, "Requests of a round; default: 300.") var count = 300
    @Option(.connections) var connections = 64
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 3.") var rounds = 3
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(count: count, connections: connections, rounds: rounds, entitled: Self.daemon(entitled))
    }
}
