import CLI

/// `Benchmarks subscribers`.
struct SubscribersBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "subscribers", "Ask a real `entitled api` for customers: cold, then with snapshots.")
    static let scenario = BenchmarkScenario.subscribers

    @Option("--count", .count, "Requests; default: 20000.") var count = 20_000
    @Option(.connections) var connections = 64
    @Option(.rate) var rate = 0
    @Option("--customers", .customers, "Customers with a subscription each; default: 1000000.")
    var customers = 1_000_000
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.statements) var statements
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, rate: Double(rate), bodies: bodies, entitled: Self.daemon(entitled),
            customers: customers, statements: statements)
    }
}
