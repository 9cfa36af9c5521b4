import Base

/// From the post to the webhook: P3 at full speed, P4 at a given rate, P7 of the worker.
struct DeliverScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests
    let folder: String

    func run() throws -> BenchmarkReport {
        let installation = try Installation(
            program: options.entitled, root: requests.root, folder: folder, countsStatements: options.statements)
        let consumer = try WebhookConsumer()
        defer { consumer.end() }
        try installation.command(["endpoints", "add", consumer.url])
        let (ingest, worker) = (try installation.start("ingest"), try installation.start("worker"))
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        var load = LoadGenerator(requests: requests, address: try ingest.address(), connections: options.connections)
        load.rate = options.rate
        let (ingestBefore, workerBefore, postgresBefore) = (ingest.usage, worker.usage, installation.postgresCPU)
        if options.statements { try StatementCosts.reset(installation.database) }
        let writesBefore = try DatabaseWrites(installation.database)
        let started = ContinuousClock.now
        let outcome = try load.run(0..<requests.count)
        let applied = try installation.waitForNone("SELECT count(*) FROM entitled.pending") - started
        let delivered = try installation.waitForNone("SELECT count(*) FROM entitled.delivery WHERE state = 0") - started
        let (ingestAfter, workerAfter, postgresAfter) = (ingest.usage, worker.usage, installation.postgresCPU)
        ingest.end()
        worker.end()
        let writes = try DatabaseWrites(installation.database).since(writesBefore)

        var report = BenchmarkReport("deliver")
        let accepted = Double(max(1, outcome.accepted))
        report.add("accepted", accepted, "notifications")
        report.add("accepted_per_second", accepted / outcome.elapsed.seconds, "1/s")
        report.add("applied_per_second", accepted / applied.seconds, "1/s")
        report.add(
            "delivered_per_second", accepted / delivered.seconds, "notifications/s",
            wanted: options.rate > 0 ? nil : "P3 ≥ 3,000")
        report.add("webhooks", Double(consumer.count), "requests")
        report.add("webhooks_per_second", Double(consumer.count) / delivered.seconds, "1/s")
        addLatencies(outcome, consumer, to: &report)
        report.add("ingest_cpu", (ingestAfter.cpu - ingestBefore.cpu) * 1e6 / accepted, "µs CPU each")
        report.add("worker_cpu", (workerAfter.cpu - workerBefore.cpu) * 1e6 / accepted, "µs CPU each")
        report.add("postgres_cpu", (postgresAfter - postgresBefore) * 1e6 / accepted, "µs CPU each")
        report.add("ingest_resident", ingestAfter.peakResident / 1e6, "MB", wanted: "P7 ≤ 64")
        report.add("worker_resident", workerAfter.peakResident / 1e6, "MB", wanted: "P7 ≤ 128")
        report.add("wal_bytes", writes.walBytes / accepted, "bytes each")
        report.add("dead_tuples", writes.deadTuples / accepted, "rows each")
        report.add("hot_updates", 100 * writes.hotShare, "% of updates")
        report.add("dead", Double(try installation.number(Self.dead)), "deliveries", wanted: "0")
        let sum = try installation.tableSizes().reduce(0) { $0 + $1.bytes }
        report.add("disk_bytes", Double(sum) / accepted, "bytes each")
        if options.statements {
            report.detail("statements", try StatementCosts.report(installation.database, items: accepted))
        }
        report.detail("complaints", .strings((ingest.complaints + worker.complaints)))
        return report
    }

    private static let dead = "SELECT count(*) FROM entitled.delivery WHERE state NOT IN (0, 1)"

    /// From the answer to a purchase's first notification to the first webhook about that purchase, which that one
    /// causes: later ones of the same purchase cannot be told apart from outside.
    private func addLatencies(
        _ outcome: LoadGenerator.Outcome, _ consumer: WebhookConsumer, to report: inout BenchmarkReport
    ) {
        let arrivals = consumer.arrivals
        let latencies = outcome.firstAnswers.compactMap { purchase, answered in
            arrivals[purchase].map { ($0 - answered).seconds * 1000 }
        }
        let isPaced = options.rate > 0
        report.add("webhook_samples", Double(latencies.count), "purchases")
        report.add("webhook_p50", latencies.percentile(0.5), "ms", wanted: isPaced ? "P4 < 20" : nil)
        report.add("webhook_p99", latencies.percentile(0.99), "ms", wanted: isPaced ? "P4 < 150" : nil)
    }
}
