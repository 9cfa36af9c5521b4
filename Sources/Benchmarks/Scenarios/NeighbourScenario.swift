import Base
import Glibc
import Postgres

/// Whether bad consumers delay good ones: a steady rate of notifications to many healthy consumers, in windows with and
/// without a neighbour that is slow and has much waiting, and with and without hosts that swallow connections.
struct NeighbourScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests
    let folder: String

    private enum Company: String, CaseIterable {
        case none, slow, dead
    }

    private static let answerTime = Duration.seconds(30)
    /// What is bad gets on before it is measured, and what it still has in flight ends before others are; in µs.
    private static let settling: UInt32 = 3_000_000
    private static let ending: UInt32 = 31_000_000

    /// Of healthy and dead ones together.
    private static let deadShare = 0.2

    func run() throws -> BenchmarkReport {
        let installation = try Installation(program: options.entitled, root: requests.root, folder: folder)
        let consumers = try ConsumerFarm(keepsArrivals: true) { name in
            name == "slow" ? NeighbourScenario.answerTime : .zero
        }
        defer { consumers.end() }
        let healthy = try (0..<options.endpoints).map { try installation.addEndpoint(consumers.url(of: "c\($0)")) }
        // Nothing new comes for it: its line is long enough.
        let slow = try installation.addEndpoint(consumers.url(of: "slow"), "--event", "TEST")
        let silent = try (0..<deadCount).map { _ in try SilentHost() }
        let dead = try silent.map { try installation.addEndpoint($0.url) }
        try WaitingDeliveries.add(max(1, options.backlog), to: [slow], type: "TEST", installation)
        try pause([slow] + dead, installation)
        _ = try installation.database.query("ANALYZE")
        let (ingest, worker) = (try installation.start("ingest"), try installation.start("worker"))
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        var load = LoadGenerator(requests: requests, address: try ingest.address(), connections: options.connections)
        load.rate = options.rate

        var windows: [Company: [Window]] = [:]
        var known: Set<String> = []
        let size = requests.count / ((options.rounds + 1) * Company.allCases.count)
        // One round before the others warms everything.
        for round in 0...options.rounds {
            if round > 0 { usleep(NeighbourScenario.ending) }
            for (turn, company) in Company.allCases.enumerated() {
                let bad = [.none: [], .slow: [slow], .dead: dead][company] ?? []
                try release(bad, installation)
                usleep(NeighbourScenario.settling)
                let start = (round * Company.allCases.count + turn) * size
                let before = worker.usage.cpu
                let outcome = try load.run(start..<start + size)
                try waitForHealthy(healthy, installation)
                let cpu = (worker.usage.cpu - before) * 1e6 / Double(max(1, size * healthy.count))
                try pause(bad, installation)
                let latencies = latencies(outcome, consumers.takeArrivals(), &known)
                if round > 0 { windows[company, default: []].append(Window(latencies, cpu: cpu)) }
            }
        }
        ingest.end()
        worker.kill()
        withExtendedLifetime(silent) {}
        return report(windows, complaints: ingest.complaints + worker.complaints)
    }

    /// What one window came to.
    private struct Window {
        let samples: Int
        let p50: Double
        let p99: Double
        let cpu: Double

        init(_ latencies: [Double], cpu: Double) {
            samples = latencies.count
            p50 = latencies.percentile(0.5)
            p99 = latencies.percentile(0.99)
            self.cpu = cpu
        }
    }

    private var deadCount: Int {
        let share = NeighbourScenario.deadShare
        return max(1, Int((Double(options.endpoints) * share / (1 - share)).rounded()))
    }

    private func report(_ windows: [Company: [Window]], complaints: [String]) -> BenchmarkReport {
        var report = BenchmarkReport("neighbours")
        func median(_ company: Company, _ part: (Window) -> Double) -> Double {
            (windows[company] ?? []).map(part).median
        }
        report.add("healthy_endpoints", Double(options.endpoints), "")
        report.add("dead_endpoints", Double(deadCount), "")
        report.add("windows", Double(options.rounds), "of each kind")
        for company in Company.allCases {
            report.add("\(company)_samples", median(company) { Double($0.samples) }, "a window")
            report.add("\(company)_p50", median(company, \.p50), "ms")
            report.add("\(company)_p99", median(company, \.p99), "ms")
            report.add("\(company)_cpu", median(company, \.cpu), "µs CPU of the worker each")
        }
        for company in [Company.slow, .dead] {
            // Beside the quiet window of the same round, because a machine is not equally fast all the time.
            let ratios = zip(windows[company] ?? [], windows[.none] ?? []).map { $0.p99 / max(0.001, $1.p99) }
            report.add("\(company)_ratio", ratios.median, "of the p99 alone", wanted: "≤ 1.1")
        }
        report.detail("complaints", .strings(complaints))
        return report
    }

    /// From the answer to a purchase's first notification to each healthy consumer's first webhook about it, in ms.
    private func latencies(
        _ outcome: LoadGenerator.Outcome, _ arrivals: [ConsumerFarm.Arrival: ContinuousClock.Instant],
        _ known: inout Set<String>
    ) -> [Double] {
        let fresh = outcome.firstAnswers.filter { !known.contains($0.key) }
        known.formUnion(fresh.keys)
        return arrivals.compactMap { arrival, instant in
            fresh[arrival.purchase].map { max(0, (instant - $0).seconds * 1000) }
        }
    }

    private func waitForHealthy(_ healthy: [String], _ installation: Installation) throws {
        _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending")
        let deadline = ContinuousClock.now + .seconds(120)
        while try WaitingDeliveries.left(for: healthy, installation) > 0 {
            guard ContinuousClock.now < deadline else { throw BenchmarkFailure("healthy consumers were not served") }
            usleep(200_000)
        }
    }

    // MARK: - Who is there

    private func pause(_ endpoints: [String], _ installation: Installation) throws {
        try set(endpoints, Int64.max, installation)
    }

    private func release(_ endpoints: [String], _ installation: Installation) throws {
        try set(endpoints, 0, installation)
    }

    private func set(_ endpoints: [String], _ until: Int64, _ installation: Installation) throws {
        _ = try installation.database.query(
            "UPDATE entitled.endpoint SET paused_until_ms = $2 WHERE id = ANY($1::text[])",
            [.texts(endpoints), .int8(until)])
    }
}
