import CLI

/// `Benchmarks deliver`.
struct DeliverBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "deliver", "Measure from the post to the webhook, with a real worker and a local consumer.")
    static let scenario = BenchmarkScenario.deliver

    @Option("--count", .count, "Distinct notifications; default: 20000.") var count = 20_000
    @Option(.connections) var connections = 64
    @Option(.rate) var rate = 0
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.statements) var statements
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, rate: Double(rate), bodies: bodies, entitled: Self.daemon(entitled),
            statements: statements)
    }
}
