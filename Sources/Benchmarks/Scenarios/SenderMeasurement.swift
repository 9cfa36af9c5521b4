import Base

/// How fast webhooks are sent, what the sender needs, and whether bad consumers delay good ones: one table.
struct SenderMeasurement {
    private let options: BenchmarkOptions
    private let bodies: String

    init(_ options: BenchmarkOptions, folder: String) {
        self.options = options
        bodies = options.bodies ?? "\(folder)/requests"
    }

    func run() throws -> BenchmarkTable {
        var table = BenchmarkTable()
        for inFlight in [1, 100, 2000] { try send(inFlight, &table) }
        try waiting(&table)
        try neighbours(&table)
        return table
    }

    private func measure(
        _ scenario: BenchmarkScenario, _ name: String, _ table: inout BenchmarkTable,
        _ change: (inout BenchmarkOptions) -> Void
    ) throws -> BenchmarkReport {
        var own = options
        own.bodies = bodies
        change(&own)
        BenchmarksProgram.note(name)
        let report = try scenario.run(own)
        table.keep(name, report)
        return report
    }

    private func send(_ inFlight: Int, _ table: inout BenchmarkTable) throws {
        let report = try measure(.send, "send, \(inFlight) in flight", &table) { own in
            own.inFlight = inFlight
            own.rounds = options.quick ? 1 : 5
            own.count = (options.quick ? 2000 : 20_000) / (inFlight == 1 ? 4 : 1)
        }
        let asked = BenchmarkReport.number(Double(inFlight))
        let method = "\(BenchmarkReport.number(report["in_flight"])) in flight at most, of \(asked) that are asked for"
        table.add("", "deliveries, \(asked) in flight", report["deliveries_per_second"], "/s", method: method)
        table.add("", "… CPU of the worker", report["worker_cpu"], "µs each", method: "median of the rounds")
        table.add("", "… CPU of Postgres", report["postgres_cpu"], "µs each", method: "the same")
    }

    private func waiting(_ table: inout BenchmarkTable) throws {
        let report = try measure(.waiting, "waiting deliveries", &table) { own in
            own.backlog = options.quick ? 50_000 : 1_000_000
        }
        let method = "\(BenchmarkReport.number(report["waiting"])) are due to consumers that take 40 s"
        table.add("P7", "worker memory", report["worker_resident_peak"], "MB", .most(128), method: method)
        table.add(
            "", "… with none", report["worker_resident_alone"], "MB", method: "the same worker with nothing to do")
        table.add("", "… CPU of Postgres", report["postgres_cpu"], "ms a second", method: method)
    }

    private func neighbours(_ table: inout BenchmarkTable) throws {
        let report = try measure(.neighbours, "neighbours", &table) { own in
            own.rate = options.quick ? 5 : 8
            own.endpoints = options.quick ? 20 : 100
            own.backlog = options.quick ? 10_000 : 100_000
            own.rounds = options.quick ? 1 : 3
            own.count = (own.rounds + 1) * 3 * Int(own.rate) * (options.quick ? 3 : 10)
        }
        let healthy = BenchmarkReport.number(report["healthy_endpoints"])
        table.add(
            "", "webhook, p99 of \(healthy) healthy ones", report["none_p99"], "ms",
            method: "from the answer to the webhook; every event goes to each")
        table.add(
            "", "… with a slow one", report["slow_ratio"], "times it", .most(1.1),
            method: "one that answers after 30 s, with much waiting; median of the rounds")
        table.add(
            "", "… with dead ones", report["dead_ratio"], "times it", .most(1.1),
            method:
                "\(BenchmarkReport.number(report["dead_endpoints"])) hosts that swallow connections, and every event")
    }
}
