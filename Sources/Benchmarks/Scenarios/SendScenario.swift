import Base
import Glibc
import Postgres

/// A worker alone with deliveries that are due, and consumers that answer so late that as much is in flight as may be.
struct SendScenario {
    let options: BenchmarkOptions
    let root: String
    let folder: String

    /// Deliveries in a second that the consumers could take: more than a worker can send.
    private static let offered = 8000.0
    /// The most that the configuration gives one endpoint.
    private static let perEndpoint = 1000

    /// As few consumers as may have so much in flight together, and the configuration of a worker that uses all of it: half
    /// of its places are never one endpoint's (`SendLimits.leavesRoom`).
    private static func limits(_ inFlight: Int) -> (endpoints: Int, settings: [JSON.Member]) {
        let endpoints = max(1, (inFlight + perEndpoint - 1) / perEndpoint)
        let each = (inFlight + endpoints - 1) / endpoints
        return (
            endpoints,
            [
                JSON.Member(name: "max_in_flight_per_endpoint", value: .int(Int64(each))),
                JSON.Member(name: "max_in_flight", value: .int(Int64(2 * each * endpoints + 2))),
            ]
        )
    }

    func run() throws -> BenchmarkReport {
        let limits = SendScenario.limits(options.inFlight)
        let installation = try Installation(
            program: options.entitled, root: root, folder: folder, webhooks: limits.settings)
        let late = Duration.seconds(options.inFlight > 1 ? Double(options.inFlight) / SendScenario.offered : 0)
        let consumers = try ConsumerFarm(keepsArrivals: false) { _ in late }
        defer { consumers.end() }
        let endpoints = try (0..<limits.endpoints).map { try installation.addEndpoint(consumers.url(of: "c\($0)")) }
        let worker = try installation.start("worker")
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        var (rates, own, postgres, peaks) = ([Double](), [Double](), [Double](), [Double]())
        // One round before the others warms connections and caches.
        for round in 0...options.rounds {
            let before = (worker.usage.cpu, consumers.count)
            // Writing them is not what is measured.
            try WaitingDeliveries.add(
                options.count, to: endpoints, first: round * options.count, ahead: 2000, installation)
            let postgresBefore = installation.postgresCPU
            _ = consumers.takeMostOpen()
            let (elapsed, count) = try measure(consumers, since: before.1, installation)
            guard round > 0 else { continue }
            rates.append(Double(count) / elapsed.seconds)
            own.append((worker.usage.cpu - before.0) * 1e6 / Double(count))
            postgres.append((installation.postgresCPU - postgresBefore) * 1e6 / Double(count))
            peaks.append(Double(consumers.takeMostOpen()))
        }
        let usage = worker.usage
        worker.end()
        var report = BenchmarkReport("send")
        report.add("wanted_in_flight", Double(options.inFlight), "requests")
        report.add("in_flight", peaks.median, "requests at most")
        report.add("endpoints", Double(endpoints.count), "")
        report.add("deliveries_per_second", rates.median, "1/s")
        report.add("worker_cpu", own.median, "µs CPU each")
        report.add("postgres_cpu", postgres.median, "µs CPU each")
        report.add("worker_resident", usage.peakResident / 1e6, "MB")
        report.detail("complaints", .strings(worker.complaints))
        return report
    }

    /// From the first of the round's arrivals until all are written down.
    private func measure(
        _ consumers: ConsumerFarm, since before: Int, _ installation: Installation
    ) throws -> (Duration, Int) {
        let deadline = ContinuousClock.now + .seconds(60)
        while consumers.count == before {
            guard ContinuousClock.now < deadline else { throw BenchmarkFailure("nothing was sent") }
            usleep(1000)
        }
        let started = ContinuousClock.now
        let ended = try installation.waitForNone("SELECT count(*) FROM entitled.delivery WHERE state = 0")
        return (ended - started, consumers.count - before)
    }
}
