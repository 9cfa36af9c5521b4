import Base
import Postgres
import StoreSimulator
import TestSupport

/// Accepting, applying and reading beside very many purchases, as ratios to the same beside few: P9. Two installations, in
/// turns, because a machine is not equally fast all the time; all of it is about purchases that are there already.
struct GrownScenario {
    let options: BenchmarkOptions
    let folder: String

    private static let few = 20_000

    /// What a database of so many purchases did in each round.
    private struct Rates {
        var accepts: [Double] = []
        var applies: [Double] = []
        var reads: [Double] = []
        var rereads: [Double] = []
        var complaints: [String] = []
    }

    private struct Side {
        let installation: Installation
        let purchases: Int
        /// Of each round, what is posted, and who is asked for.
        var requests: [MemoryRequests] = []
        var rates = Rates()
    }

    func run() throws -> BenchmarkReport {
        try TemporaryFolder.with { second in try run([folder, second]) }
    }

    private func run(_ folders: [String]) throws -> BenchmarkReport {
        let now = SystemClock().now()
        let pki = try StorePKI.generate(now: now)
        try PKIFolder("\(folder)/pki").write(pki, force: true)
        var report = BenchmarkReport("grown")
        let counts = [GrownScenario.few, max(GrownScenario.few, options.purchases)]
        var sides = try zip(counts, folders).map { count, folder in try grow(count, folder, pki, now, &report) }
        for side in sides.indices { try sign(&sides[side], NotificationSigner(pki), now) }
        for round in 0..<options.rounds {
            BenchmarksProgram.note("round \(round + 1) of \(options.rounds)")
            for side in sides.indices { try accept(&sides[side], round) }
            for side in sides.indices { try apply(&sides[side]) }
            for side in sides.indices { try read(&sides[side], round) }
        }
        func add(_ name: String, _ rates: KeyPath<Rates, [Double]>) {
            let (few, many) = (sides[0].rates[keyPath: rates], sides[1].rates[keyPath: rates])
            report.add("\(name)_few", few.median, "1/s")
            report.add("\(name)_many", many.median, "1/s")
            report.add(
                "\(name)_ratio", zip(many, few).map { $0 / max(1, $1) }.median, "of it", wanted: "P9 ≥ 0.8")
        }
        add("accepts", \.accepts)
        add("applies", \.applies)
        add("reads", \.reads)
        add("rereads", \.rereads)
        report.detail("complaints", .strings(sides.flatMap(\.rates.complaints)))
        return report
    }

    // MARK: - Growing

    private func grow(
        _ count: Int, _ folder: String, _ pki: StorePKI, _ now: Int64, _ report: inout BenchmarkReport
    ) throws -> Side {
        BenchmarksProgram.note("growing \(count) purchases")
        let installation = try Installation(
            program: options.entitled, root: PKIFolder("\(self.folder)/pki").rootPath, folder: folder)
        let started = ContinuousClock.now
        let facts = try FactSeeder(signer: nil, makesRecords: true).add(0..<count, to: installation) { number in
            GrownLife(number, now: now).life.notifications
        }
        try SeededRecords.finish(on: installation.database)
        let written = ContinuousClock.now - started
        try installation.database.query("VACUUM ANALYZE")
        try installation.database.query("CHECKPOINT")
        let name = count == GrownScenario.few ? "few" : "many"
        let bytes = try installation.tableSizes().reduce(0) { $0 + $1.bytes }
        report.add("\(name)_purchases", Double(count), "")
        report.add("\(name)_facts", Double(facts), "")
        report.add("\(name)_bytes", Double(bytes) / 1e9, "GB on disk")
        report.add("\(name)_written", Double(facts) / written.seconds, "facts/s")
        return Side(installation: installation, purchases: count)
    }

    /// Each round tells of other purchases, spread over all.
    private func sign(_ side: inout Side, _ signer: NotificationSigner, _ now: Int64) throws {
        let all = options.rounds * options.count
        guard all <= side.purchases else { throw BenchmarkFailure("there are less purchases than notifications") }
        let step = side.purchases / all
        side.requests = try (0..<options.rounds).map { round in
            MemoryRequests(
                try (0..<options.count).map { place in
                    // Neighbours by number are in different rounds.
                    var life = GrownLife((place * options.rounds + round) * step, now: now)
                    return MemoryRequests.Request(
                        bytes: RequestBytes.post(
                            RequestBytes.notifications, try signer.sign(life.next(now: now)).body))
                })
        }
    }

    // MARK: - Measuring

    private func accept(_ side: inout Side, _ round: Int) throws {
        let ingest = try side.installation.start("ingest")
        let load = LoadGenerator(
            requests: side.requests[round], address: try ingest.address(), connections: options.connections)
        let outcome = try load.run(0..<options.count)
        guard outcome.refused.isEmpty else { throw BenchmarkFailure("refused: \(outcome.refused)") }
        side.rates.accepts.append(Double(outcome.accepted) / outcome.elapsed.seconds)
        side.rates.complaints += ingest.complaints
        ingest.end()
    }

    private func apply(_ side: inout Side) throws {
        let worker = try side.installation.start("worker")
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        let started = ContinuousClock.now
        let done = try side.installation.waitForNone("SELECT count(*) FROM entitled.pending")
        side.rates.applies.append(Double(options.count) / (done - started).seconds)
        side.rates.complaints += worker.complaints
        worker.end()
        let held = try side.installation.number("SELECT count(*) FROM entitled.held_notification")
        guard held == 0 else { throw BenchmarkFailure("\(held) notifications are held") }
    }

    /// Twice the same customers: at first nothing is ready for them.
    private func read(_ side: inout Side, _ round: Int) throws {
        let api = try side.installation.start("api")
        let requests = CustomerRequests(
            options.count, of: side.purchases, key: Installation.publicKey, seed: UInt64(round + 1),
            id: GrownLife.appUserID)
        let load = LoadGenerator(
            requests: requests, address: try api.address(), connections: options.connections)
        for reading in [\Rates.reads, \Rates.rereads] {
            let outcome = try load.run(0..<options.count)
            guard outcome.refused.isEmpty else { throw BenchmarkFailure("refused: \(outcome.refused)") }
            side.rates[keyPath: reading].append(Double(outcome.accepted) / outcome.elapsed.seconds)
        }
        side.rates.complaints += api.complaints
        api.end()
    }
}
