import Base
import Glibc
import Postgres

/// A worker's memory with very many deliveries that wait: all of them due, to consumers that take long, so that it holds
/// as many as it ever will.
struct WaitingScenario {
    let options: BenchmarkOptions
    let root: String
    let folder: String

    private static let endpoints = 10
    /// How long it is looked at, and how long each consumer takes.
    private static let time = Duration.seconds(20)

    func run() throws -> BenchmarkReport {
        let alone = try resident(with: 0, "\(folder)/alone")
        let full = try resident(with: max(1, options.backlog), "\(folder)/full")
        var report = BenchmarkReport("waiting")
        report.add("waiting", Double(max(1, options.backlog)), "deliveries")
        report.add("worker_resident", full.resident / 1e6, "MB", wanted: "P7 ≤ 128")
        report.add("worker_resident_peak", full.peak / 1e6, "MB", wanted: "P7 ≤ 128")
        report.add("worker_resident_alone", alone.resident / 1e6, "MB")
        report.add("worker_cpu", full.cpu * 1000 / WaitingScenario.time.seconds, "ms CPU a second")
        report.add("worker_cpu_alone", alone.cpu * 1000 / WaitingScenario.time.seconds, "ms CPU a second")
        report.add("postgres_cpu", full.postgres * 1000 / WaitingScenario.time.seconds, "ms CPU a second")
        report.add("postgres_cpu_alone", alone.postgres * 1000 / WaitingScenario.time.seconds, "ms CPU a second")
        return report
    }

    private func resident(
        with count: Int, _ folder: String
    ) throws -> (resident: Double, peak: Double, cpu: Double, postgres: Double) {
        guard mkdir(folder, 0o755) == 0 else { throw BenchmarkFailure("cannot make \(folder)") }
        let installation = try Installation(program: options.entitled, root: root, folder: folder)
        let consumers = try ConsumerFarm(keepsArrivals: false) { _ in WaitingScenario.time * 2 }
        defer { consumers.end() }
        let endpoints = try (0..<WaitingScenario.endpoints).map { number in
            try installation.addEndpoint(consumers.url(of: "c\(number)"))
        }
        if count > 0 {
            try WaitingDeliveries.add(count, to: endpoints, installation)
            _ = try installation.database.query("ANALYZE")
            _ = try installation.database.query("CHECKPOINT")
        }
        let worker = try installation.start("worker")
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        let (before, postgresBefore) = (worker.usage, installation.postgresCPU)
        usleep(UInt32(clamping: WaitingScenario.time.milliseconds * 1000))
        let (usage, postgresAfter) = (worker.usage, installation.postgresCPU)
        worker.kill()
        return (usage.resident, usage.peakResident, usage.cpu - before.cpu, postgresAfter - postgresBefore)
    }
}
