import Base
import Postgres
import StoreSimulator

/// Durable accepts: P1, P2 and P7, then P6 once everything is applied.
struct IngestScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests
    let folder: String

    func run() throws -> BenchmarkReport {
        let check = try VerifyScenario.signatureCheck(requests)
        let installation = try Installation(
            program: options.entitled, root: requests.root, folder: folder, countsStatements: options.statements)
        let ingest = try installation.start("ingest")
        var load = LoadGenerator(
            requests: requests, address: try ingest.address(), connections: options.connections)
        load.rate = options.rate
        let (before, postgresBefore) = (ingest.usage, installation.postgresCPU)
        let writesBefore = try DatabaseWrites(installation.database)
        let outcome = try load.run(0..<requests.count)
        let (after, postgresAfter) = (ingest.usage, installation.postgresCPU)
        ingest.end()
        let writes = try DatabaseWrites(installation.database).since(writesBefore)

        var report = BenchmarkReport("ingest")
        let accepted = Double(max(1, outcome.accepted))
        let cpu = (after.cpu - before.cpu) * 1e6 / accepted
        report.add("body_bytes", requests.meanBodyBytes, "bytes")
        report.add("accepted", Double(outcome.accepted), "notifications")
        report.add("refused", Double(outcome.refused.values.reduce(0, +)), "notifications", wanted: "0")
        report.add("accepted_per_second", accepted / outcome.elapsed.seconds, "1/s", wanted: "P2 ≥ 5,000")
        report.add("answer_p50", outcome.latencies.percentile(0.5), "ms")
        report.add("answer_p99", outcome.latencies.percentile(0.99), "ms", wanted: "P2 < 40")
        report.add("signature_check", check, "µs CPU")
        report.add("ingest_cpu", cpu, "µs CPU each")
        report.add("ingest_cpu_ratio", cpu / check, "signature checks", wanted: "P1 ≤ 3")
        report.add("postgres_cpu", (postgresAfter - postgresBefore) * 1e6 / accepted, "µs CPU each")
        report.add("ingest_resident", after.peakResident / 1e6, "MB", wanted: "P7 ≤ 64")
        report.add("wal_bytes", writes.walBytes / accepted, "bytes each")
        report.add("dead_tuples", writes.deadTuples / accepted, "rows each")
        try addSizes(installation, accepted, to: &report)
        if options.statements {
            report.detail("statements", try StatementCosts.report(installation.database, items: accepted))
        }
        report.detail("complaints", .strings(ingest.complaints))
        return report
    }

    /// Bytes on disk after a worker has applied everything.
    private func addSizes(_ installation: Installation, _ accepted: Double, to report: inout BenchmarkReport) throws {
        let worker = try installation.start("worker")
        _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending")
        worker.end()
        // What stood in line at once would count as if it were kept.
        _ = try installation.database.query("VACUUM")
        let sizes = try installation.tableSizes()
        let sum = sizes.reduce(0) { $0 + $1.bytes }
        report.add("disk_bytes", Double(sum) / accepted, "bytes each", wanted: "P6 ≤ 2,900")
        let each = sizes.prefix(12).map { JSON.Member(name: $0.table, value: .double(Double($0.bytes) / accepted)) }
        report.detail("disk_bytes_by_table", .object(each))
        let relations = try installation.relationSizes().prefix(30).map {
            JSON.Member(name: $0.relation, value: .double(Double($0.bytes) / accepted))
        }
        report.detail("disk_bytes_by_relation", .object(relations))
        report.detail("packed_bytes", .object(try packedBytes(installation)))
        let held = try installation.number("SELECT count(*) FROM entitled.held_notification")
        report.add("held", Double(held), "notifications", wanted: "0")
    }

    /// What is left of each payload and body, on average, by what it is.
    private func packedBytes(_ installation: Installation) throws -> [JSON.Member] {
        let rows = try installation.database.query(
            """
            SELECT 'notification' AS part, avg(length(payload))::float8 AS bytes FROM entitled.notification
            UNION ALL SELECT 'event', avg(length(body))::float8 FROM entitled.event
            UNION ALL SELECT 'fact_' || kind, avg(length(payload))::float8 FROM entitled.fact GROUP BY kind
            UNION ALL SELECT 'rows_' || 'fact', count(*)::float8 FROM entitled.fact
            UNION ALL SELECT 'rows_' || 'event', count(*)::float8 FROM entitled.event
            """)
        return try rows.map { JSON.Member(name: try $0.text("part"), value: .double(try $0.double("bytes"))) }
    }
}
