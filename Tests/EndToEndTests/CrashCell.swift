import Base
import Daemon
import Glibc
import Postgres
import StoreSimulator
import TestSupport

/// One way to die, in an installation of its own: processes end again and again while notifications come in, and others
/// go on. Then everything is compared with what a run without deaths left.
final class CrashCell: Sendable {
    /// What ends, and when.
    enum Death: Sendable, CustomStringConvertible {
        case never
        /// The process that passes there.
        case at(FailPoint)
        /// The processes of these roles, at any moment.
        case atRandom([String])

        var description: String {
            switch self {
            case .never: "never"
            case .at(let point): point.rawValue
            case .atRandom(let roles): "any moment: \(roles.joined(separator: ", "))"
            }
        }
    }

    struct Result: Sendable {
        let name: String
        var kills = 0
        var losses: [String] = []
        var differences: [String] = []
    }

    /// The same for all cells.
    static let notifications: [StoreNotification] = {
        var lives = (0..<12).map {
            SubscriberLife(app: Site.app, seed: 77, number: $0, withToken: !$0.isMultiple(of: 3))
        }
        let day = StoreProduct.day
        return lives.indices.map { lives[$0].start(at: Site.start) }
            + lives.indices.map { lives[$0].autoRenewOff(at: Site.start + day) }
            + lives.indices.map { lives[$0].autoRenewOn(at: Site.start + 2 * day) }
            + lives.indices.map { lives[$0].extend(days: 7, at: Site.start + 3 * day) }
    }()

    private let death: Death
    private let site: Site
    private let database: TestDatabase
    private let consumer: Consumer
    private let waiting = Monitor(CrashCell.notifications[...])

    init(_ death: Death) throws {
        self.death = death
        database = try TestCluster.shared.makeMigratedDatabase()
        site = try Site(database)
        consumer = try Consumer()
        _ = try site.addEndpoint(consumer)
    }

    /// Dies so often, then ends what is left in order.
    func run(kills: Int) throws -> Result {
        defer { consumer.stop() }
        var result = Result(name: "\(death)")
        switch death {
        case .never: break
        case .at(let point) where point.rawValue.hasPrefix("ingest."):
            let worker = try site.start("worker")
            for _ in 0..<kills { try dieListening(point) }
            worker.kill(SIGTERM)
            try worker.wait()
        case .at(let point):
            let ingest = try site.start("ingest")
            let address = try ingest.address("ingest")
            for _ in 0..<kills { try dieWorking(point, address) }
            ingest.kill(SIGTERM)
            try ingest.wait()
        case .atRandom(let roles):
            try dieAtRandom(roles, kills)
        }
        if case .never = death {} else { result.kills = kills }
        try finish()
        try check(&result)
        return result
    }

    /// What this run left.
    func record() throws -> CrashRecord { try CrashRecord(database, consumer) }

    // MARK: - Dying

    private func die(_ point: FailPoint, _ passes: ClosedRange<Int>, _ role: String) throws -> Program {
        let pace = Bool.random() ? "" : ":late"
        return try site.start(
            role, environment: [FailPoint.variable: "\(point.rawValue):\(Int.random(in: passes))\(pace)"])
    }

    private func expectKilled(_ program: Program) throws {
        let status = try program.wait()
        guard status == 128 + SIGKILL else { throw TestFailure("\(death): ended with \(status): \(program.log)") }
    }

    private func dieListening(_ point: FailPoint) throws {
        let ingest = try die(point, 1...3, "ingest")
        let address = try ingest.address("ingest")
        while try post(to: address) != 0 {}
        try expectKilled(ingest)
    }

    /// Works on a backlog first, then on what comes.
    private func dieWorking(_ point: FailPoint, _ address: String) throws {
        for _ in 0..<2 { _ = try post(to: address) }
        let isRetention = point.rawValue.hasPrefix("retention.")
        if isRetention { try giveRetentionWork() }
        let isIdle = isRetention || point.rawValue.hasPrefix("lease.")
        let worker = try die(point, isRetention ? 1...1 : 1...2, "worker")
        try eventually("\(death): the worker has lanes or ends: \(worker.log)") {
            worker.hasEnded || worker.log.contains("lanes gained")
        }
        while !worker.hasEnded {
            if !isIdle { _ = try post(to: address) }
            let since = ContinuousClock.now
            try eventually("some time passes") { worker.hasEnded || ContinuousClock.now - since > .milliseconds(400) }
        }
        try expectKilled(worker)
    }

    /// Two days that are long over, and one to come that is missing. The worker who comes must own the lanes at once, for
    /// the first look at what is kept.
    private func giveRetentionWork() throws {
        for table in ["notification", "attempt"] {
            for age in [500, 501] {
                try database.execute("SELECT entitled.make_day('\(table)', current_date - \(age))")
            }
            try database.execute(
                """
                DO $$ BEGIN
                    EXECUTE format('DROP TABLE IF EXISTS entitled.%I', '\(table)' || to_char(
                        (clock_timestamp() AT TIME ZONE 'UTC')::date + 7, '_YYYYMMDD'));
                END $$
                """)
        }
        try eventually("the lanes are free") {
            try database.count(
                "SELECT count(*) FROM entitled.lane WHERE owner IS NOT NULL AND lease_until >= clock_timestamp()") == 0
        }
    }

    private func dieAtRandom(_ roles: [String], _ kills: Int) throws {
        var programs = ["ingest": try site.start("ingest"), "worker": try site.start("worker")]
        for _ in 0..<kills {
            let address = try programs["ingest"]?.address("ingest") ?? ""
            let load = TestThread { [self] in
                for _ in 0..<3 { _ = try post(to: address) }
            }
            // The moment is the point of it, and not a wait for anything.
            usleep(.random(in: 0..<80_000))
            let role = roles.randomElement() ?? "worker"
            guard let victim = programs[role] else { continue }
            victim.kill()
            try expectKilled(victim)
            try load.value()
            programs[role] = try site.start(role)
        }
        for program in programs.values {
            program.kill(SIGTERM)
            try program.wait()
        }
    }

    /// Sends the next one; it stays the next one unless it is taken. The status, 0 where nobody answered.
    private func post(to address: String) throws -> Int {
        guard let next = waiting.read({ $0.first }) else { throw TestFailure("\(death): nothing is left to send") }
        let status = try site.post(next, to: address)
        if status == 200 { waiting.change { $0 = $0.dropFirst() } }
        return status
    }

    // MARK: - The end

    /// Everything else, by processes that live.
    private func finish() throws {
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        let address = try ingest.address("ingest")
        while waiting.read({ !$0.isEmpty }) {
            try eventually("\(death): it is taken") { try post(to: address) == 200 }
        }
        let connection = try database.connect()
        try eventually(timeout: .seconds(60), "\(death): everything is applied and told; \(worker.log.suffix(2000))") {
            try connection.query(
                """
                SELECT NOT EXISTS (SELECT 1 FROM entitled.pending)
                    AND NOT EXISTS (SELECT 1 FROM entitled.delivery WHERE state = 0)
                """
            ).one().bool(0)
        }
        for program in [ingest, worker] {
            program.kill(SIGTERM)
            guard try program.wait() == 0 else { throw TestFailure("\(death): no orderly end: \(program.log)") }
        }
    }

    /// Every notification was acknowledged in the end, so every one must be there.
    private func check(_ result: inout Result) throws {
        let stored = Set(try database.texts("SELECT uuid FROM entitled.notification"))
        result.losses += CrashCell.notifications.filter { !stored.contains($0.uuid) }.map { "lost: \($0.uuid)" }
        let bodies = Dictionary(grouping: consumer.requests, by: \.id)
        for (id, requests) in bodies where Set(requests.map(\.body)).count > 1 {
            result.differences.append("event \(id) has two bodies")
        }
        let rebuild = try Program(
            ["rebuild", "--dry-run", "--config", "\(site.folder)/entitled.json5"], folder: site.folder)
        if try rebuild.wait() != 0 { result.differences.append("rebuild: \(rebuild.text) \(rebuild.log)") }
    }
}
