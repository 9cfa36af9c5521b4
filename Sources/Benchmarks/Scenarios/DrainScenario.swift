import Base
import Glibc
import Postgres

/// A worker alone with what waits: the base of P5, and with `--backlog` or `--retries` its other side.
struct DrainScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests
    let folder: String

    func run() throws -> BenchmarkReport {
        let installation = try Installation(
            program: options.entitled, root: requests.root, folder: folder, shards: options.shards)
        let ingest = try installation.start("ingest")
        let load = LoadGenerator(requests: requests, address: try ingest.address(), connections: options.connections)
        let preparedBefore = try installation.twoPhaseCommits()
        let (ingestBefore, coordinatorBefore) = (installation.postgresCPU, installation.coordinatorCPU)
        let began = ContinuousClock.now
        let outcome = try load.run(0..<requests.count)
        let (ingestElapsed, ingestAfter) = (ContinuousClock.now - began, installation.postgresCPU)
        let ingestCoordinator = installation.coordinatorCPU - coordinatorBefore
        let ingestUsage = ingest.usage
        ingest.end()
        let last = try installation.number("SELECT max(seq) FROM entitled.pending")
        try fill(installation)
        _ = try installation.database.query("ANALYZE")
        _ = try installation.database.query("CHECKPOINT")

        let (postgresBefore, drainBefore) = (installation.postgresCPU, installation.coordinatorCPU)
        let writesBefore = try DatabaseWrites(installation.database)
        let worker = try installation.start("worker")
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        let started = ContinuousClock.now
        let measured = options.drainsBacklog ? Self.left : "SELECT count(*) FROM entitled.pending WHERE seq <= \(last)"
        let elapsed = try installation.waitForNone(measured) - started
        let (usage, postgresAfter) = (worker.usage, installation.postgresCPU)
        let drainCoordinator = installation.coordinatorCPU - drainBefore
        worker.end()
        let writes = try DatabaseWrites(installation.database).since(writesBefore)
        // What stood behind was worked on meanwhile, too.
        let finished = Double(max(1, options.backlog + outcome.accepted - Int(try installation.number(Self.left))))

        var report = BenchmarkReport("drain")
        let applied = Double(max(1, outcome.accepted))
        report.add("accepted_per_second", applied / ingestElapsed.seconds, "1/s")
        report.add("ingest_cpu", ingestUsage.cpu * 1e6 / applied, "µs CPU each")
        report.add("ingest_postgres_cpu", (ingestAfter - ingestBefore) * 1e6 / applied, "µs CPU each")
        report.add("ingest_coordinator_cpu", ingestCoordinator * 1e6 / applied, "µs CPU each, of these")
        report.add("applied", applied, "notifications")
        report.add("backlog_behind", Double(options.backlog), "notifications")
        report.add("waiting_retries", Double(options.retries), "deliveries")
        report.add("applied_per_second", applied / elapsed.seconds, "1/s", wanted: "P5 ≥ 0.8 of the empty one")
        report.add("elapsed", elapsed.seconds, "s")
        report.add("finished", finished, "notifications, with those of the backlog")
        report.add("worker_cpu", usage.cpu * 1e6 / applied, "µs CPU each")
        report.add("postgres_cpu", (postgresAfter - postgresBefore) * 1e6 / applied, "µs CPU each")
        report.add("coordinator_cpu", drainCoordinator * 1e6 / applied, "µs CPU each, of these")
        report.add("wal_bytes", writes.walBytes / finished, "bytes each")
        report.add("dead_tuples", writes.deadTuples / finished, "rows each")
        report.add("worker_resident", usage.peakResident / 1e6, "MB", wanted: "P7 ≤ 128")
        report.add(
            "two_phase_commits", (try installation.twoPhaseCommits() - preparedBefore) / finished,
            "prepared transactions each")
        let held = try installation.number("SELECT count(*) FROM entitled.held_notification")
        report.add("held", Double(held), "notifications", wanted: "0")
        report.detail("complaints", .strings(worker.complaints))
        return report
    }

    private static let left = "SELECT count(*) FROM entitled.pending"

    /// Copies of what waits, behind it in its lanes; and deliveries whose time has not come.
    private func fill(_ installation: Installation) throws {
        if options.backlog > 0 {
            try installation.database.execute(script: DrainScenario.backlog(options.backlog))
        }
        if options.retries > 0 {
            try installation.command(["endpoints", "add", "http://127.0.0.1:9/hook"])
            try installation.database.execute(script: DrainScenario.retries(options.retries))
        }
    }

    private static func backlog(_ count: Int) -> String {
        """
        CREATE TEMPORARY TABLE copies AS
            SELECT n.lane, n.seq, m.last + row_number() OVER (ORDER BY c.round, n.seq) AS new
            FROM generate_series(1, 1 + \(count) / (SELECT count(*) FROM entitled.pending)) AS c(round),
                entitled.notification n, (SELECT max(seq) AS last FROM entitled.notification) m
            LIMIT \(count);
        INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, subtype, original_transaction_id,
                signed_ms, received_ms, source, header, payload, signature)
            SELECT n.lane, c.new, app, environment, uuid, type, subtype, original_transaction_id,
                signed_ms, received_ms, source, header, payload, signature
            FROM copies c JOIN entitled.notification n USING (lane, seq);
        INSERT INTO entitled.pending (lane, seq) SELECT lane, new FROM copies;
        """
    }

    private static func retries(_ count: Int) -> String {
        """
        UPDATE entitled.endpoint SET events = '{NONE}';
        INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, attempts, next_ms, created_ms)
            SELECT g % 256, gen_random_uuid(), e.id, gen_random_uuid(), 'RENEWAL', 0, 1,
                (extract(epoch FROM now()) * 1000)::int8 + 3600000 + g, (extract(epoch FROM now()) * 1000)::int8
            FROM generate_series(1, \(count)) AS g, entitled.endpoint e;
        """
    }
}
