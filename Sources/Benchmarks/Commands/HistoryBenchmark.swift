import CLI

/// `Benchmarks history`.
struct HistoryBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "history", "Measure what applying costs a purchase with a long history.")
    static let scenario = BenchmarkScenario.history

    @Option("--count", .count, "Measured notifications; default: 200.") var count = 200
    @Option("--facts", .facts, "Facts of a purchase with a long history; default: 10000.") var facts = 10_000
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(count: count, entitled: Self.daemon(entitled), facts: facts)
    }
}
