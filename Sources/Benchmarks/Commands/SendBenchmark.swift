import CLI

/// `Benchmarks send`.
struct SendBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "send", "Measure the rate at which a worker sends pending deliveries.")
    static let scenario = BenchmarkScenario.send

    @Option("--count", .count, "Deliveries of a round; default: 20000.") var count = 20_000
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 5.") var rounds = 5
    @Option("--in-flight", .integer(1...100_000, "N"), "Requests in flight; default: 100.") var inFlight = 100
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, rounds: rounds, bodies: bodies, entitled: Self.daemon(entitled), inFlight: inFlight)
    }
}
