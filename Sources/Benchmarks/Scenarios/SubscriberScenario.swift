import Base
import Glibc
import StoreSimulator

/// Apps that ask a real `entitled api` for customers, at first with nothing ready, then with a snapshot for everybody.
struct SubscriberScenario {
    let options: BenchmarkOptions
    let root: String
    let folder: String

    func run() throws -> BenchmarkReport {
        let installation = try Installation(
            program: options.entitled, root: root, folder: folder, countsStatements: options.statements)
        BenchmarksProgram.note("seeding \(options.customers) customers")
        try SeededCustomers.add(options.customers, now: SystemClock().now() - 86_400_000, to: installation)
        let api = try installation.start("api")
        let address = try api.address()
        var report = BenchmarkReport("subscribers")
        report.add("customers", Double(options.customers), "")
        report.add("load_before", SubscriberScenario.load, "processes that run, one minute's mean")
        func measure(_ name: String, _ count: Int, seed: UInt64) throws {
            let requests = CustomerRequests(count, of: options.customers, key: Installation.publicKey, seed: seed)
            var load = LoadGenerator(requests: requests, address: address, connections: options.connections)
            load.rate = options.rate
            let (own, postgres) = (api.usage.cpu, installation.postgresCPU)
            let outcome = try load.run(0..<count)
            guard outcome.refused.isEmpty else { throw BenchmarkFailure("refused: \(outcome.refused)") }
            let answered = Double(max(1, outcome.accepted))
            report.add("\(name)_per_second", answered / outcome.elapsed.seconds, "1/s")
            report.add("\(name)_p50", outcome.latencies.percentile(0.5), "ms")
            report.add("\(name)_p99", outcome.latencies.percentile(0.99), "ms")
            report.add("\(name)_api_cpu", (api.usage.cpu - own) * 1e6 / answered, "µs CPU each")
            report.add("\(name)_postgres_cpu", (installation.postgresCPU - postgres) * 1e6 / answered, "µs CPU each")
        }
        try measure("cold", options.count, seed: 1)
        BenchmarksProgram.note("keeping a snapshot for everybody")
        try SeededCustomers.addSnapshots(to: installation)
        // Warms connections and caches.
        try measure("warming", options.count, seed: 2)
        if options.statements { try StatementCosts.reset(installation.database) }
        try measure("hot", options.count * 4, seed: 3)
        if options.statements {
            report.detail(
                "statements", try StatementCosts.report(installation.database, items: Double(options.count * 4)))
        }
        report.add("load_after", SubscriberScenario.load, "processes that run, one minute's mean")
        report.add("api_resident", api.usage.peakResident / 1e6, "MB")
        report.detail("complaints", .strings(api.complaints))
        api.end()
        return report
    }

    private static var load: Double {
        var mean = 0.0
        return getloadavg(&mean, 1) == 1 ? mean : 0
    }
}
