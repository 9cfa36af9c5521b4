import Base
import Postgres
import StoreSimulator

/// Apps that post what was bought, while one address and one Apple account do their worst with the same public key: P11.
/// In turns with quiet times.
struct RivalScenario {
    let options: BenchmarkOptions
    let folder: String

    private static let purchases = 2000
    private static let attackers = 8
    /// Others post so many at a time.
    private static let connections = 3
    private static let source = "198.51.100.1"
    private static let patience = Duration.seconds(120)

    private struct Tally {
        var latencies = LatencyHistogram()
        var refused: [Int: Int] = [:]

        mutating func add(_ outcome: LoadGenerator.Outcome) {
            latencies.add(outcome.latencies)
            refused.merge(outcome.refused, uniquingKeysWith: +)
        }
    }

    func run() throws -> BenchmarkReport {
        let now = SystemClock().now()
        let pki = try StorePKI.generate(now: now)
        try PKIFolder("\(folder)/pki").write(pki, force: true)
        let signer = NotificationSigner(pki)
        let store = try SlowStore.start()
        defer { store.end() }
        let installation = try Installation(
            program: options.entitled, root: PKIFolder("\(folder)/pki").rootPath, folder: folder, store: store.origin)
        let (ingest, worker) = (try installation.start("ingest"), try installation.start("worker"))
        let account = try Attack.Account(
            purchases: RivalScenario.purchases, seed: 5, signer: signer, key: Installation.publicKey, now: now)
        BenchmarksProgram.note("telling of an account with \(RivalScenario.purchases) purchases")
        let told = MemoryRequests(
            try account.told.map {
                MemoryRequests.Request(
                    bytes: RequestBytes.post(RequestBytes.notifications, try signer.sign($0).body))
            })
        _ = try LoadGenerator(requests: told, address: try ingest.address(), connections: options.connections)
            .run(0..<told.count)
        _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending")
        let api = try installation.start("api")
        let address = try api.address()

        var (quiet, busy) = (Tally(), Tally())
        var attacked: [Int: Int] = [:]
        var first = 0
        _ = try others(&first, signer, now, address)
        for round in 1...options.rounds {
            BenchmarksProgram.note("round \(round) of \(options.rounds)")
            quiet.add(try others(&first, signer, now, address))
            let lookUps = Attack.lookUps(1000, key: Installation.publicKey)
            // Moving the account costs the most: three connections in four.
            let attack = Attack(
                [account.requests, account.requests, account.requests, lookUps],
                connections: RivalScenario.attackers, address: address)
            do {
                // It is under way before others come.
                _ = try others(&first, signer, now, address, share: 10)
                busy.add(try others(&first, signer, now, address))
            } catch {
                _ = attack.end()
                throw error
            }
            attacked.merge(attack.end(), uniquingKeysWith: +)
            _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending")
        }
        for process in [ingest, worker] { process.end() }
        // What asks Apple would wait for it.
        api.kill()
        return report(quiet, busy, attacked, api.complaints + worker.complaints)
    }

    /// Customers who were never heard of, each with a purchase of their own; a share of the whole.
    private func others(
        _ first: inout Int, _ signer: NotificationSigner, _ now: Int64, _ address: String, share: Int = 1
    ) throws -> LoadGenerator.Outcome {
        let requests = MemoryRequests(
            try (first..<first + max(1, options.count / share)).map { number in
                var life = SubscriberLife(seed: 6, number: UInt64(number), withToken: false)
                life.start(at: now - 3_600_000)
                let transaction = try signer.sign(life.latest.payload(signedDate: now - 3_600_000))
                return MemoryRequests.Request(
                    bytes: ReceiptRequests.receipt(
                        transaction, for: "other-\(number)", key: Installation.publicKey, from: RivalScenario.source))
            })
        first += requests.count
        var load = LoadGenerator(requests: requests, address: address, connections: RivalScenario.connections)
        load.patience = RivalScenario.patience
        return try load.run(0..<requests.count)
    }

    private func report(
        _ quiet: Tally, _ busy: Tally, _ attacked: [Int: Int], _ complaints: [String]
    ) -> BenchmarkReport {
        var report = BenchmarkReport("rivals")
        report.add("posts", Double(busy.latencies.count), "receipts of others beside the attack")
        for (name, tally) in [("quiet", quiet), ("attacked", busy)] {
            report.add("\(name)_p50", tally.latencies.percentile(0.5), "ms")
            report.add("\(name)_p99", tally.latencies.percentile(0.99), "ms")
            report.add("\(name)_refused", Double(tally.refused.values.reduce(0, +)), "receipts", wanted: "0")
        }
        report.add(
            "p99_ratio", busy.latencies.percentile(0.99) / max(0.001, quiet.latencies.percentile(0.99)), "times it",
            wanted: "P11 ≤ 3")
        report.add("attack_answers", Double(attacked.values.reduce(0, +)), "requests")
        let statuses = attacked.sorted { $0.key < $1.key }.map { status, count in
            JSON.Member(name: "\(status)", value: .int(Int64(count)))
        }
        report.detail("attack_statuses", .object(statuses))
        report.detail("complaints", .strings(complaints))
        return report
    }
}
