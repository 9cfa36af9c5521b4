import CLI

/// `Benchmarks drain`.
struct DrainBenchmark: ScenarioCommand {
    static let configuration = CommandConfiguration(
        "drain", "Measure a worker's rate of applying pending notifications.")
    static let scenario = BenchmarkScenario.drain

    @Option("--count", .count, "Distinct notifications; default: 20000.") var count = 20_000
    @Option(.connections) var connections = 64
    @Option("--backlog", .waiting, "Further pending notifications behind the measured ones; default: 0.")
    var backlog = 0
    @Option("--retries", .waiting, "Deliveries that wait for a retry; default: 0.") var retries = 0
    @Option("--shards", .shards, "Shards of a cluster of three servers (Citus); default: one Postgres.")
    var shards: Int?
    @Option(.bodies) var bodies: String?
    @Option(.entitled) var entitled: String?
    @Flag(.json) var json

    var options: BenchmarkOptions {
        BenchmarkOptions(
            count: count, connections: connections, bodies: bodies, entitled: Self.daemon(entitled), backlog: backlog,
            retries: retries, shards: shards)
    }
}
