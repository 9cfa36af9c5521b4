import Base
import TestSupport

/// The same notifications accepted and applied on one Postgres, and on clusters of three servers of this host with few shards and
/// with more: what distribution costs.
struct ClusterScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests

    private static let shards = [2, 4]
    /// Rates first, then what a notification costs.
    private static let figures = [
        "accepted_per_second", "applied_per_second", "ingest_cpu", "ingest_postgres_cpu", "ingest_coordinator_cpu",
        "worker_cpu", "postgres_cpu", "coordinator_cpu", "two_phase_commits",
    ]

    func run() throws -> BenchmarkReport {
        guard TestServers.areAvailable else { throw BenchmarkFailure("Postgres has no extension citus here") }
        var report = BenchmarkReport("cluster")
        let plain = try drain(nil)
        for name in Self.figures where name != "two_phase_commits" { add(name, plain, "plain", &report) }
        for count in Self.shards {
            BenchmarksProgram.note("\(count) shards")
            let cluster = try drain(count)
            let prefix = "shards_\(count)"
            for name in Self.figures { add(name, cluster, prefix, &report) }
            for name in ["accepted_per_second", "applied_per_second"] {
                report.add("\(prefix)_\(name)_ratio", cluster[name] / max(1, plain[name]), "of one Postgres")
            }
            report.add(
                "\(prefix)_postgres_cpu_ratio", Self.cost(cluster) / Self.cost(plain), "times one Postgres",
                wanted: "≤ 3")
        }
        return report
    }

    private func add(_ name: String, _ run: BenchmarkReport, _ prefix: String, _ report: inout BenchmarkReport) {
        report.add("\(prefix)_\(name)", run[name], run.figures.first { $0.name == name }?.unit ?? "")
    }

    /// Processor time that all servers take to accept a notification and to apply it.
    private static func cost(_ run: BenchmarkReport) -> Double { run["ingest_postgres_cpu"] + run["postgres_cpu"] }

    private func drain(_ shards: Int?) throws -> BenchmarkReport {
        var options = options
        options.shards = shards
        return try TemporaryFolder.with { folder in
            try DrainScenario(options: options, requests: requests, folder: folder).run()
        }
    }
}
