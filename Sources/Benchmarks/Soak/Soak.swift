import Base
import CLI
import Postgres
import StoreSimulator

/// A long time under load, with what goes wrong in the world: notifications that cannot be applied, a consumer that hangs,
/// and a key that misbehaves. Tells each minute how it goes, and at the end whether memory and latencies stayed as they
/// were and nothing was lost.
struct Soak {
    let options: BenchmarkOptions
    let folder: String
    let terminal: Terminal

    private static let chunk = Duration.seconds(2)
    /// So many stretches at least, of a minute at most.
    private static let stretches = 9.0
    private static let patience = Duration.seconds(900)
    /// The misbehaving key: requests of each kind in a second, and connections.
    private static let attackRate = 10.0
    private static let attackConnections = 4
    private static let attackedPurchases = 50

    /// Lets the database refuse a product.
    private static let refusal = [
        """
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'data_exception'; END $$
        """,
        """
        CREATE TRIGGER refuse BEFORE INSERT ON entitled.purchase FOR EACH ROW
        WHEN (NEW.product_id = '\(SoakFeed.refusedProduct)') EXECUTE FUNCTION public.refuse()
        """,
    ]

    /// Everything that runs.
    private struct Scene {
        let installation: Installation
        let ingest: DaemonProcess
        let worker: DaemonProcess
        let api: DaemonProcess
        let healthy: String
        let watch: RecordWatch

        var memory: [(process: String, bytes: Double)] {
            [
                ("ingest", ingest.usage.resident), ("worker", worker.usage.resident), ("api", api.usage.resident),
                ("postgres", installation.postgresMemory),
            ]
        }
    }

    /// What the load did in all.
    private struct Sum {
        var accepted = 0
        var poison = 0
        var refused = 0
        var isLate = false
    }

    /// False where something grew, or was lost.
    func run() throws -> Bool {
        let now = SystemClock().now()
        let pki = try StorePKI.generate(now: now)
        try PKIFolder("\(folder)/pki").write(pki, force: true)
        let (signer, stranger) = (NotificationSigner(pki), NotificationSigner(try StorePKI.generate(now: now)))
        let consumers = try ConsumerFarm(keepsArrivals: false) { $0 == "hangs" ? .seconds(86_400) : .zero }
        defer { consumers.end() }
        let installation = try Installation(
            program: options.entitled, root: PKIFolder("\(folder)/pki").rootPath, folder: folder)
        for statement in Soak.refusal { _ = try installation.database.query(statement) }
        let healthy = try installation.addEndpoint(consumers.url(of: "healthy"))
        _ = try installation.addEndpoint(consumers.url(of: "hangs"))
        let scene = Scene(
            installation: installation, ingest: try installation.start("ingest"),
            worker: try installation.start("worker"), api: try installation.start("api"), healthy: healthy,
            watch: RecordWatch(installation))
        let account = try Attack.Account(
            purchases: Soak.attackedPurchases, seed: 5, signer: signer, key: Installation.publicKey, now: now)
        try tell(account, signer, scene)
        let attack = Attack(
            [account.requests, Attack.lookUps(1000, key: Installation.publicKey)],
            connections: Soak.attackConnections, address: try scene.api.address(), rate: Soak.attackRate)
        let feed = SoakFeed(
            size: max(1, Int(options.rate * Soak.chunk.seconds)), signer: signer, stranger: stranger)
        defer { feed.end() }
        let (samples, sum) = try load(feed, scene)
        let answers = attack.end()
        note("the key was answered \(answers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })")
        let verdict = try judge(samples, sum, account.told.count, scene)
        say(verdict.lines.joined(separator: "\n"))
        say(verdict.faults.isEmpty ? "it holds" : "IT DOES NOT HOLD: \(verdict.faults.joined(separator: "; "))")
        return verdict.faults.isEmpty
    }

    private func note(_ text: String) { BenchmarksProgram.note(text) }

    /// At once, also into a file.
    private func say(_ text: String) { terminal.print(text) }

    private func tell(_ account: Attack.Account, _ signer: NotificationSigner, _ scene: Scene) throws {
        let told = MemoryRequests(
            try account.told.map {
                MemoryRequests.Request(
                    bytes: RequestBytes.post(RequestBytes.notifications, try signer.sign($0).body))
            })
        let outcome = try LoadGenerator(requests: told, address: try scene.ingest.address(), connections: 8)
            .run(0..<told.count)
        guard outcome.refused.isEmpty else { throw BenchmarkFailure("refused: \(outcome.refused)") }
    }

    // MARK: - The load

    private func load(_ feed: SoakFeed, _ scene: Scene) throws -> ([SoakSample], Sum) {
        let address = try scene.ingest.address()
        let seconds = Double(options.minutes) * 60
        let stretch = min(60, seconds / Soak.stretches)
        var (samples, sample, sum) = ([SoakSample](), SoakSample(), Sum())
        say(SoakSample.heading(scene.memory.map(\.process)))
        // The first ones take a while to be signed.
        var next: SoakFeed.Chunk? = try feed.next()
        let started = ContinuousClock.now
        var (due, begun) = (started, 0.0)
        while let chunk = next {
            if due > .now { pause(until: due) }
            let outcome = try send(chunk, address, scene, &sum)
            due += Soak.chunk
            sample.accepted += outcome.accepted
            sample.refused += outcome.refused.values.reduce(0, +)
            sample.accept.add(outcome.latencies)
            let passed = (ContinuousClock.now - started).seconds
            let isLast = (due - started).seconds >= seconds
            if passed - begun >= stretch || isLast {
                sample.at = passed
                sample.record = scene.watch.takeLatencies()
                sample.pending = try scene.installation.number("SELECT count(*) FROM entitled.pending")
                sample.held = try scene.installation.number("SELECT count(*) FROM entitled.held_notification")
                sample.memory = scene.memory
                say(sample.line(seconds: passed - begun))
                // What is left at the end is no whole stretch.
                if passed - begun >= stretch / 2 { samples.append(sample) }
                (sample, begun) = (SoakSample(), passed)
            }
            next = isLast ? nil : try feed.next()
        }
        sum.isLate = (ContinuousClock.now - due).seconds > seconds * 0.02
        return (samples, sum)
    }

    private func send(
        _ chunk: SoakFeed.Chunk, _ address: String, _ scene: Scene, _ sum: inout Sum
    ) throws -> LoadGenerator.Outcome {
        let poisonAccepted = Counter()
        var load = LoadGenerator(
            requests: chunk.requests, address: address, connections: options.connections)
        load.rate = options.rate
        let watch = scene.watch
        load.answered = { index, status, at in
            guard status == 200 else { return }
            if chunk.poison.contains(index) { poisonAccepted.add() }
            if let purchase = chunk.fresh[index] { watch.await(purchase, since: at) }
        }
        let outcome = try load.run(0..<chunk.requests.count)
        sum.accepted += outcome.accepted
        sum.refused += outcome.refused.values.reduce(0, +)
        sum.poison += poisonAccepted.value
        return outcome
    }

    // MARK: - The end

    /// Whether it ends well; if not, the reason is printed.
    private func ends(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            note("\(error)")
            return false
        }
    }

    private func judge(
        _ samples: [SoakSample], _ sum: Sum, _ toldBefore: Int, _ scene: Scene
    ) throws -> SoakVerdict {
        let installation = scene.installation
        var verdict = SoakVerdict(samples)
        note("waiting until everything is applied")
        let isApplied = ends {
            _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending", timeout: Soak.patience)
        }
        let isSent = ends {
            _ = try installation.waitForNone(
                "SELECT count(*) FROM entitled.delivery WHERE state = 0 AND endpoint = '\(scene.healthy)'",
                timeout: Soak.patience)
        }
        let recordless = try scene.watch.finish(within: .seconds(10))
        scene.api.end()
        scene.worker.kill()
        scene.ingest.end()
        verdict.check("the load was kept up", !sum.isLate, "fewer came in than the rate asks for")
        verdict.check("everything is applied or held", isApplied, "notifications still wait")
        verdict.check("the healthy consumer got everything", isSent, "deliveries to the healthy consumer wait")
        verdict.check("fresh purchases without a record", Int64(recordless), 0)
        verdict.check(
            "accepted notifications in the log",
            try installation.number("SELECT count(*) FROM entitled.notification WHERE source = 0"),
            Int64(sum.accepted + toldBefore))
        verdict.check(
            "held, of those that cannot be applied",
            try installation.number(
                "SELECT count(*) FROM entitled.held_notification JOIN entitled.notification USING (lane, seq) WHERE source = 0"
            ), Int64(sum.poison))
        verdict.check("neither held nor a fact", try installation.number(Soak.lost), 0)
        verdict.check(
            "a rebuild finds no difference", ends { _ = try installation.command(["rebuild", "--dry-run"]) },
            "`entitled rebuild --dry-run` finds differences")
        let complaints = scene.worker.complaints + scene.ingest.complaints + scene.api.complaints
        note(
            "warnings and errors logged: \(complaints.count)\(complaints.prefix(5).map { "\n  \($0.prefix(300))" }.joined())"
        )
        return verdict
    }

    /// A test says nothing that is kept.
    private static let lost = """
        SELECT count(*) FROM entitled.notification n WHERE n.source = 0 AND n.type <> 'TEST'
            AND NOT EXISTS (SELECT FROM entitled.held_notification h WHERE h.lane = n.lane AND h.seq = n.seq)
            AND NOT EXISTS (SELECT FROM entitled.fact f WHERE f.lane = n.lane AND f.seq = n.seq)
        """
}
