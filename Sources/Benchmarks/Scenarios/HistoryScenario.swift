import Base
import Glibc
import Postgres
import StoreSimulator

/// What applying one notification costs where much was said of the purchase before, and where little was: P8. In turns, so
/// that both meet the machine in the same state.
struct HistoryScenario {
    let options: BenchmarkOptions
    let folder: String

    private static let short = 30
    /// Notifications of a turn: so many more has a short history at its end.
    private static let turn = 4
    /// How often it is looked whether one is applied, and how long the worker is watched without work, in µs.
    private static let look: UInt32 = 1_000
    private static let idle: UInt32 = 3_000_000
    private static let patience = Duration.seconds(60)

    private struct Cost {
        var cpu = 0.0
        var elapsed = Duration.zero
        var applied: [Double] = []
    }

    func run() throws -> BenchmarkReport {
        var histories = try Histories(options, folder)
        let installation = histories.installation
        let (ingest, worker) = (try installation.start("ingest"), try installation.start("worker"))
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        let address = try ingest.address()

        // The first one of each purchase finds what no process has read before.
        var warming = [try histories.tellLong()]
        for index in histories.short.indices { warming.append(try histories.tellShort(index)) }
        try post(warming, address, installation)
        let meter = try WorkerMeter(worker: worker.process, installation)
        let idle = try meter.idleShare(HistoryScenario.idle)
        var (long, short) = (Cost(), Cost())
        for index in histories.short.indices {
            let toLong = try (0..<HistoryScenario.turn).map { _ in try histories.tellLong() }
            try apply(toLong, address, meter, installation, &long)
            let toShort = try (0..<HistoryScenario.turn).map { _ in try histories.tellShort(index) }
            try apply(toShort, address, meter, installation, &short)
        }
        let held = try installation.number("SELECT count(*) FROM entitled.held_notification")
        ingest.end()
        worker.end()
        var report = report(histories, long: long, short: short, idle: idle, held: held)
        report.detail("complaints", .strings(ingest.complaints + worker.complaints))
        return report
    }

    /// A long history and many short ones in a database, and the notifications that follow them.
    private struct Histories {
        let installation: Installation
        /// How many facts were written.
        let written: Int
        private(set) var long: LongHistory
        private(set) var short: [LongHistory]
        private let signer: NotificationSigner
        private var moment: Int64

        init(_ options: BenchmarkOptions, _ folder: String) throws {
            moment = SystemClock().now()
            let now = moment
            let pki = try StorePKI.generate(now: now)
            try PKIFolder("\(folder)/pki").write(pki, force: true)
            signer = NotificationSigner(pki)
            installation = try Installation(
                program: options.entitled, root: PKIFolder("\(folder)/pki").rootPath, folder: folder)
            let turns = max(1, options.count / HistoryScenario.turn)
            BenchmarksProgram.note(
                "writing a history of \(options.facts) facts and \(turns) of \(HistoryScenario.short)")
            long = LongHistory(number: 0, facts: options.facts, now: now)
            short = (1...turns).map { LongHistory(number: UInt64($0), facts: HistoryScenario.short, now: now) }
            let histories = [long] + short
            written = try FactSeeder(signer: signer).add(0..<histories.count, to: installation) { number in
                histories[number].notifications
            }
            try installation.command(["rebuild"])
            try installation.database.query("VACUUM ANALYZE")
        }

        mutating func tellLong() throws -> [UInt8] {
            moment += 1000
            return try HistoryScenario.request(long.toggle(at: moment), signer)
        }

        mutating func tellShort(_ index: Int) throws -> [UInt8] {
            moment += 1000
            return try HistoryScenario.request(short[index].toggle(at: moment), signer)
        }
    }

    private func report(
        _ histories: Histories, long: Cost, short: Cost, idle: Double, held: Int64
    ) -> BenchmarkReport {
        func microseconds(_ cost: Cost) -> Double {
            (cost.cpu - idle * cost.elapsed.seconds) * 1e6 / Double(max(1, cost.applied.count))
        }
        var report = BenchmarkReport("history")
        report.add("facts", Double(histories.written), "facts of \(histories.short.count + 1) purchases")
        report.add("long_history", Double(3 * histories.long.notifications.count), "facts at the end")
        report.add("held", Double(held), "notifications", wanted: "0")
        report.add("idle_cpu", idle * 100, "% of a core")
        report.add("short_cpu", microseconds(short), "µs CPU each, worker and its Postgres")
        report.add("long_cpu", microseconds(long), "µs CPU each")
        report.add("cpu_ratio", microseconds(long) / max(1, microseconds(short)), "times it", wanted: "P8 ≤ 1.5")
        report.add("short_applied_p50", short.applied.median, "ms from the post to the commit")
        report.add("long_applied_p50", long.applied.median, "ms")
        return report
    }

    private static func request(_ notification: StoreNotification, _ signer: NotificationSigner) throws -> [UInt8] {
        RequestBytes.post(RequestBytes.notifications, try signer.sign(notification).body)
    }

    private func post(_ requests: [[UInt8]], _ address: String, _ installation: Installation) throws {
        let load = LoadGenerator(
            requests: MemoryRequests(requests.map { MemoryRequests.Request(bytes: $0) }), address: address,
            connections: 1)
        let outcome = try load.run(0..<requests.count)
        guard outcome.refused.isEmpty else { throw BenchmarkFailure("refused: \(outcome.refused)") }
        let deadline = ContinuousClock.now + HistoryScenario.patience
        while try installation.number("SELECT count(*) FROM entitled.pending") > 0 {
            guard ContinuousClock.now < deadline else { throw BenchmarkFailure("a notification was not applied") }
            usleep(HistoryScenario.look)
        }
    }

    /// One after the other, each when the one before is applied.
    private func apply(
        _ requests: [[UInt8]], _ address: String, _ meter: WorkerMeter, _ installation: Installation,
        _ cost: inout Cost
    ) throws {
        let (before, started) = (meter.cpu, ContinuousClock.now)
        for request in requests {
            let posted = ContinuousClock.now
            try post([request], address, installation)
            cost.applied.append((ContinuousClock.now - posted).seconds * 1000)
        }
        cost.cpu += meter.cpu - before
        cost.elapsed += ContinuousClock.now - started
    }
}

/// The processor time of a worker and of the server's processes that serve it.
struct WorkerMeter {
    private let processes: [pid_t]

    init(worker: pid_t, _ installation: Installation) throws {
        let backends = try installation.database.query(
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'entitled%worker%'"
        ).map { pid_t(try $0.int("pid")) }
        guard !backends.isEmpty else { throw BenchmarkFailure("the worker has no connection") }
        processes = [worker] + backends
    }

    /// Seconds so far.
    var cpu: Double { processes.reduce(0) { $0 + ProcessUsage.runningThreadsCPU(of: $1) } }

    /// Seconds of processor time in a second without work.
    func idleShare(_ microseconds: UInt32) throws -> Double {
        let (before, started) = (cpu, ContinuousClock.now)
        usleep(microseconds)
        return (cpu - before) / (ContinuousClock.now - started).seconds
    }
}
