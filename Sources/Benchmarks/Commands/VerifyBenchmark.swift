import CLI

/// `Benchmarks verify`.
struct VerifyBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "verify", "Measure CPU time of a signature check, of a verified JWS and of a body that is read.")
    static let scenario = BenchmarkScenario.verify

    @Option("--count", .count, "Distinct notifications; default: 20000.") var count = 20_000
    @Option("--rounds", .rounds, "Rounds, of which the median counts; default: 5.") var rounds = 5
    @Option(.bodies) var bodies: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(count: count, rounds: rounds, bodies: bodies)
    }
}
