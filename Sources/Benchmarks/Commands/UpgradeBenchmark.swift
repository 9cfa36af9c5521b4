import CLI

/// `Benchmarks upgrade`.
struct UpgradeBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "upgrade", "Measure a writer's longest wait while large tables are migrated.",
        discussion: "The default needs about 10 GB below /tmp.")
    static let scenario = BenchmarkScenario.upgrade

    @Option("--purchases", .purchases, "Rows of each large table; default: 5000000.") var purchases = 5_000_000
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(purchases: purchases)
    }
}
