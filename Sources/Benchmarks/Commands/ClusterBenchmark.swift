import CLI

/// `Benchmarks cluster`.
struct ClusterBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "cluster",
        "Accept and apply the same notifications on one Postgres and on clusters of three servers (Citus), in one run.")
    static let scenario = BenchmarkScenario.cluster

    @Option("--count", .count, "Distinct notifications; default: 20000.") var count = 20_000
    @Option(.connections) var connections = 64
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, bodies: bodies, entitled: Self.daemon(entitled))
    }
}
