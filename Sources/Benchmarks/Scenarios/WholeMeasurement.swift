import Base

/// P1 to P11, each on an installation of its own, one after the other.
struct WholeMeasurement {
    let options: BenchmarkOptions
    private let bodies: String
    private let count: Int
    /// Of drains with much behind.
    private let sample: Int
    private let backlog: Int

    init(_ options: BenchmarkOptions, folder: String) {
        self.options = options
        bodies = options.bodies ?? "\(folder)/requests"
        count = options.quick ? 10_000 : 40_000
        sample = options.quick ? 5_000 : 10_000
        backlog = options.quick ? 100_000 : 1_000_000
    }

    func run() throws -> BenchmarkTable {
        // The most first: later runs take theirs from the same file.
        _ = try PresignedRequests.prepare(count, file: bodies) { BenchmarksProgram.note($0) }
        var table = BenchmarkTable()
        try cryptography(&table)
        try accepts(&table)
        try deliveries(&table)
        try drains(&table)
        try growth(&table)
        return table
    }

    func measure(
        _ scenario: BenchmarkScenario, _ name: String, _ table: inout BenchmarkTable,
        _ change: (inout BenchmarkOptions) -> Void = { _ in }
    ) throws -> BenchmarkReport {
        var own = options
        own.bodies = bodies
        own.count = count
        own.rate = 0
        own.backlog = 0
        own.retries = 0
        change(&own)
        BenchmarksProgram.note(name)
        let report = try scenario.run(own)
        table.keep(name, report)
        return report
    }

    private func cryptography(_ table: inout BenchmarkTable) throws {
        let report = try measure(.verify, "verify", &table) { $0.count = 1000 }
        table.add(
            "", "one P-256 check", report["signature_check"], "µs CPU",
            method: "OpenSSL over an 18 KB notification; median of \(options.rounds) rounds of 1,000")
        table.add(
            "", "one body read and verified", report["read_body_ratio"], "P-256 checks",
            method: "JSON, chain from the cache, signature, compression; one thread")
    }

    private func accepts(_ table: inout BenchmarkTable) throws {
        let report = try measure(.ingest, "ingest", &table)
        let load = "\(options.connections) connections post \(BenchmarkReport.number(Double(count))) distinct ones"
        table.add(
            "P1", "ingest CPU per accept", report["ingest_cpu_ratio"], "P-256 checks", .most(3), method: load)
        table.add("P2", "durable accepts", report["accepted_per_second"], "/s", .least(5000), method: load)
        table.add("P2", "… answered, p99", report["answer_p99"], "ms", .most(40), method: load)
        table.add(
            "P6", "bytes on disk", report["disk_bytes"], "each", .most(2900),
            method: "all tables and indexes once applied and vacuumed")
        table.add("P7", "ingest memory", report["ingest_resident"], "MB", .most(64), method: "peak under P2's load")
        table.add("", "WAL of an accept", report["wal_bytes"], "bytes", method: "pg_current_wal_insert_lsn()")
        table.add("", "dead tuples of an accept", report["dead_tuples"], "rows", method: "updates and deletions")
    }

    private func deliveries(_ table: inout BenchmarkTable) throws {
        let full = try measure(.deliver, "deliver", &table)
        let rate = full["delivered_per_second"]
        table.add(
            "P3", "accepted, applied, delivered", rate, "/s", .least(3000),
            method: "\(options.connections) connections, one worker, a local consumer; until the last webhook")
        table.add("P7", "worker memory", full["worker_resident"], "MB", .most(128), method: "peak under P3's load")
        table.add("", "WAL of a notification", full["wal_bytes"], "bytes", method: "from the post to its webhook")
        table.add("", "dead tuples of a notification", full["dead_tuples"], "rows", method: "the same")
        // Open-loop: what is due is due, however long answers take.
        let third = max(1, (rate / 3).rounded())
        let paced = try measure(.deliver, "deliver at a third", &table) { own in
            own.rate = third
            own.count = min(count, Int(third) * (options.quick ? 10 : 40))
        }
        let method = "open loop at \(BenchmarkReport.number(third))/s, a third of P3; from the answer to the webhook"
        table.add("P4", "webhook, p50", paced["webhook_p50"], "ms", .most(20), method: method)
        table.add("P4", "webhook, p99", paced["webhook_p99"], "ms", .most(150), method: method)
    }

    private func drains(_ table: inout BenchmarkTable) throws {
        let few = try (1...3).map { round in
            try measure(.drain, "drain 1,000 (\(round))", &table) { $0.count = 1000 }["applied_per_second"]
        }.median
        table.add("", "drain of 1,000 pending", few, "/s", method: "a worker that starts; median of 3")
        // In turns, because a machine is not equally fast all the time.
        var alone: [BenchmarkReport] = []
        func drain(_ name: String, _ change: (inout BenchmarkOptions) -> Void) throws -> BenchmarkReport {
            alone.append(
                try measure(.drain, "drain alone (\(alone.count + 1))", &table) { $0.count = sample })
            return try measure(.drain, name, &table) { own in
                own.count = sample
                change(&own)
            }
        }
        let behind = try Set([100_000, backlog]).sorted().map { number in
            (
                "\(BenchmarkReport.number(Double(number))) pending",
                try drain("drain, \(number) behind") { $0.backlog = number }
            )
        }
        let retries = try drain("drain, \(backlog) retries wait") { $0.retries = backlog }
        let copies = try drain("drain with as many copies") { own in
            own.backlog = sample
            own.drainsBacklog = true
        }
        func median(_ name: String) -> Double { alone.map { $0[name] }.median }
        let measured = BenchmarkReport.number(Double(sample))
        table.add(
            "", "drain of \(measured) pending", median("applied_per_second"), "/s",
            method: "the same, with nothing behind")
        table.add("", "WAL of applying", median("wal_bytes"), "bytes", method: "facts, purchase, event; no endpoint")
        table.add("", "dead tuples of applying", median("dead_tuples"), "rows", method: "the same")
        let waiting = "\(BenchmarkReport.number(Double(backlog))) waiting retries"
        for (name, report) in behind + [(waiting, retries)] {
            // A lane's batch takes from the backlog, too. Its copies say nothing new, so they cost less: how much less, the
            // drain of as many copies shows.
            func expected(_ cost: (BenchmarkReport) -> Double) -> Double {
                let alone = alone.map(cost).median
                let copy = (cost(copies) - alone) / Double(sample)
                return alone + copy * max(0, report["finished"] - Double(sample))
            }
            func elapsed(_ report: BenchmarkReport) -> Double { report["elapsed"] }
            func cpu(_ report: BenchmarkReport) -> Double {
                (report["worker_cpu"] + report["postgres_cpu"]) * report["applied"]
            }
            table.add(
                "P5", "with \(name)", expected(elapsed) / max(0.001, elapsed(report)), "of it", .least(0.8),
                method:
                    "all that is applied until the first \(measured) are, to as many of the same kinds with nothing behind"
            )
            table.add(
                "", "… CPU", cpu(report) / max(1, expected(cpu)), "times it",
                method: "of worker and Postgres; steadier where others work, too")
        }
    }
}
