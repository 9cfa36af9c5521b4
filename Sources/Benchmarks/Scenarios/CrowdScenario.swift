import Base
import Daemon
import Postgres
import StoreSimulator

/// Fresh customers beside purchases about which much was said: each of these gets a notification at once, and meanwhile
/// customers come at a steady rate. How long it takes until theirs are records: P8.
struct CrowdScenario {
    let options: BenchmarkOptions
    let folder: String

    /// Fresh customers in a second, and how many come in a round at most.
    private static let rate = 50.0
    private static let mostOfRound = 3000
    private static let leastTime = Duration.seconds(4)
    private static let patience = Duration.seconds(120)

    func run() throws -> BenchmarkReport {
        let now = SystemClock().now()
        let pki = try StorePKI.generate(now: now)
        try PKIFolder("\(folder)/pki").write(pki, force: true)
        let signer = NotificationSigner(pki)
        let installation = try Installation(
            program: options.entitled, root: PKIFolder("\(folder)/pki").rootPath, folder: folder)
        let written = try seed(installation, signer, now)
        let toggles = try toggles(signer, now)
        let (ingest, worker) = (try installation.start("ingest"), try installation.start("worker"))
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        let address = try ingest.address()
        // The first one of each purchase finds what no process has read before.
        _ = try LoadGenerator(requests: MemoryRequests(toggles.map { $0[0] }), address: address, connections: 8)
            .run(0..<toggles.count)
        _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending")

        var measured = Measured()
        var first = UInt64(0)
        for round in 1...options.rounds {
            BenchmarksProgram.note("round \(round) of \(options.rounds)")
            let (quiet, busy) = (try fresh(&first, signer), try fresh(&first, signer))
            measured.alone.add(try measure(quiet, address, installation, until: { true }))
            try measure(busy, beside: MemoryRequests(toggles.map { $0[round] }), address, installation, &measured)
        }
        let held = try installation.number("SELECT count(*) FROM entitled.held_notification")
        ingest.end()
        worker.end()
        var report = report(measured, written: written, held: held)
        report.detail("complaints", .strings(ingest.complaints + worker.complaints))
        return report
    }

    private struct Measured {
        var beside = LatencyHistogram()
        var alone = LatencyHistogram()
        /// Seconds until all of a crowd were applied.
        var drains: [Double] = []
    }

    /// Writes the histories. How many facts they have.
    private func seed(_ installation: Installation, _ signer: NotificationSigner, _ now: Int64) throws -> Int {
        let facts = options.facts
        BenchmarksProgram.note("writing \(options.purchases) histories of \(facts) facts")
        let written = try FactSeeder(signer: signer).add(0..<options.purchases, to: installation) { number in
            LongHistory(number: UInt64(number), facts: facts, now: now).notifications
        }
        try installation.command(["rebuild"])
        try installation.database.query("VACUUM ANALYZE")
        return written
    }

    /// What is said of each purchase of the crowd: at first, and in each round.
    private func toggles(_ signer: NotificationSigner, _ now: Int64) throws -> [[MemoryRequests.Request]] {
        try (0..<options.purchases).map { number in
            var history = LongHistory(number: UInt64(number), facts: options.facts, now: now)
            return try (0...options.rounds).map { round in
                MemoryRequests.Request(
                    bytes: RequestBytes.post(
                        RequestBytes.notifications,
                        try signer.sign(history.toggle(at: now + Int64(round + 1) * 1000)).body))
            }
        }
    }

    /// Customers who come while a crowd is applied.
    private func measure(
        _ customers: MemoryRequests, beside crowd: MemoryRequests, _ address: String, _ installation: Installation,
        _ measured: inout Measured
    ) throws {
        let drained = Monitor<Duration?>(nil)
        let target = installation.target
        let started = ContinuousClock.now
        let thread = ServiceThread("crowd") {
            let load = LoadGenerator(requests: crowd, address: address, connections: 64)
            _ = try? load.run(0..<crowd.count)
            let connection = try? PostgresConnection(target)
            let deadline = ContinuousClock.now + CrowdScenario.patience
            while ContinuousClock.now < deadline {
                if let left = try? connection?.query(CrowdScenario.left).one().int("count"), left == 0 { break }
                _ = drained.wait(timeout: .milliseconds(100)) { $0 }
            }
            drained.change { $0 = ContinuousClock.now - started }
        }
        measured.beside.add(
            try measure(customers, address, installation, until: { drained.read { $0 != nil } }))
        thread.join()
        measured.drains.append(drained.read { $0?.seconds ?? 0 })
    }

    private func report(_ measured: Measured, written: Int, held: Int64) -> BenchmarkReport {
        let (beside, alone) = (measured.beside, measured.alone)
        var report = BenchmarkReport("crowd")
        report.add("purchases", Double(options.purchases), "with \(written / max(1, options.purchases)) facts each")
        report.add("held", Double(held), "notifications", wanted: "0")
        report.add("fresh", Double(beside.count), "customers beside them")
        report.add("record_p50", beside.percentile(0.5), "ms")
        report.add("record_p99", beside.percentile(0.99), "ms", wanted: "P8 ≤ 1,000")
        report.add("record_longest", beside.longest.seconds * 1000, "ms")
        report.add("alone_p50", alone.percentile(0.5), "ms")
        report.add("alone_p99", alone.percentile(0.99), "ms")
        report.add("crowd_applied", measured.drains.median, "s until all of them are applied")
        return report
    }

    /// Those of the crowd that wait.
    private static let left = """
        SELECT count(*) FROM entitled.pending p JOIN entitled.notification n USING (lane, seq)
        WHERE n.type = 'DID_CHANGE_RENEWAL_STATUS'
        """

    /// The first notifications of customers who were never heard of.
    private func fresh(_ first: inout UInt64, _ signer: NotificationSigner) throws -> MemoryRequests {
        let now = SystemClock().now()
        let requests = try (0..<UInt64(CrowdScenario.mostOfRound)).map { number in
            var life = SubscriberLife(seed: 99, number: first + number)
            return MemoryRequests.Request(
                bytes: RequestBytes.post(
                    RequestBytes.notifications, try signer.sign(life.start(at: now - 60_000)).body),
                purchase: life.latest.originalID)
        }
        first += UInt64(requests.count)
        return MemoryRequests(requests)
    }

    /// Posts them at a steady rate until it is enough; how long each waited from the answer to the record.
    private func measure(
        _ requests: MemoryRequests, _ address: String, _ installation: Installation,
        until isEnough: @escaping @Sendable () -> Bool
    ) throws -> LatencyHistogram {
        let watch = RecordWatch(installation)
        let started = ContinuousClock.now
        var load = LoadGenerator(requests: requests, address: address, connections: options.connections)
        load.rate = CrowdScenario.rate
        load.answered = { index, status, at in
            if status == 200, let purchase = requests.purchase(index) { watch.await(purchase, since: at) }
        }
        load.isStopped = { ContinuousClock.now - started > CrowdScenario.leastTime && isEnough() }
        _ = try load.run(0..<requests.count)
        let lost = try watch.finish(within: CrowdScenario.patience)
        guard lost == 0 else {
            throw BenchmarkFailure("\(lost) fresh customers had no record in \(CrowdScenario.patience)")
        }
        return watch.takeLatencies()
    }
}
