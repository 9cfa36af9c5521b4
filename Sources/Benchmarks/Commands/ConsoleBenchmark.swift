import CLI

/// `Benchmarks console`.
struct ConsoleBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "console", "Measure each list, record and search of the console beside very many customers.",
        discussion: "The default needs about 6 GB below /tmp.")
    static let scenario = BenchmarkScenario.console

    @Option("--rounds", .rounds, "Rounds of each question; default: 20.") var rounds = 20
    @Option("--customers", .customers, "Customers with fifteen notifications each; default: 100000.")
    var customers = 100_000
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(rounds: rounds, entitled: Self.daemon(entitled), customers: customers)
    }
}
