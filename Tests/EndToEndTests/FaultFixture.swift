import Base
import Daemon
import Glibc
import Postgres
import StoreSimulator
import TestSupport

/// An endpoint, two workers, a consumer, and a store that comes again until it is told 200; something happens to the
/// database meanwhile.
final class FaultFixture: Sendable {
    let site: Site
    let database: TestDatabase
    let consumer: Consumer
    private let processes: Monitor<(ingest: Program, workers: [Program])>

    private struct Load {
        var acknowledged: [String] = []
        var refused = 0
        var strange: Set<Int> = []
        var isOver = false
    }

    private let load = Monitor(Load())
    private let threads = Monitor<[TestThread<Void>]>([])

    var ingest: Program { processes.read { $0.ingest } }
    var workers: [Program] { processes.read { $0.workers } }

    /// - Parameters:
    ///   - url: by which way the processes reach the database.
    ///   - program: what the processes run, if it is not the build's.
    init(_ database: TestDatabase, url: String? = nil, program: String = Program.path) throws {
        self.database = database
        let way: [String: JSON] = url.map { ["database": .object(["url": .string($0)])] } ?? [:]
        site = try Site(database, way, program: program)
        consumer = try Consumer()
        _ = try site.addEndpoint(consumer)
        let site = site
        let (ingest, workers) = (try site.start("ingest"), try (0..<2).map { _ in try site.start("worker") })
        processes = Monitor((ingest, workers))
        _ = try ingest.address("ingest")
        // What happens to the database must find both at work.
        try eventually("both workers hold lanes; they said: \(workers.map(\.log))") {
            try database.count("SELECT count(DISTINCT owner) FROM entitled.lane") == 2
        }
    }

    /// Ends a worker as an upgrade does, and starts another.
    func replaceWorker(_ place: Int) throws {
        let old = workers[place]
        old.kill(SIGTERM)
        _ = try old.wait()
        let new = try site.start("worker")
        processes.change { $0.workers[place] = new }
    }

    /// The new endpoint takes notifications before the old one ends, as behind a proxy.
    func replaceIngest() throws {
        let (old, new) = (ingest, try site.start("ingest"))
        _ = try new.address("ingest")
        processes.change { $0.ingest = new }
        old.kill(SIGTERM)
        guard try old.wait() == 0 else { throw TestFailure("no orderly end: \(old.log.suffix(2000))") }
    }

    // MARK: - Load

    /// New subscribers from several threads, until `endLoad`.
    ///
    /// - Parameter rate: notifications a second in all, at most; nil: as fast as they are answered.
    func beginLoad(rate: UInt32? = nil) {
        let begun = (UInt64(0)..<3).map { thread in
            TestThread { [self] in
                var number = thread * 1_000_000
                while !load.read({ $0.isOver }) {
                    var life = SubscriberLife(app: Site.app, seed: 60, number: number)
                    try send(life.start(at: Site.start))
                    number += 1
                    if let rate { usleep(3_000_000 / rate) }
                }
            }
        }
        threads.change { $0 = begun }
    }

    private func send(_ notification: StoreNotification) throws {
        try eventually(timeout: .seconds(60), "it is taken") {
            let ingest = self.ingest
            let status = try site.post(notification, to: try ingest.address("ingest"))
            // A sender that meets an endpoint while it is replaced comes again.
            if status == 0 || status == 503, ingest.process != self.ingest.process { return false }
            load.change { load in
                if status == 200 {
                    load.acknowledged.append(notification.uuid)
                } else {
                    load.refused += 1
                    if status != 503 { load.strange.insert(status) }
                }
            }
            return status == 200
        }
    }

    func endLoad() throws {
        load.change { $0.isOver = true }
        for thread in threads.read({ $0 }) { try thread.value(timeout: .seconds(90)) }
    }

    var acknowledged: Int { load.read { $0.acknowledged.count } }
    var refused: Int { load.read { $0.refused } }

    /// Waits until so many more are acknowledged.
    func more(_ count: Int) throws {
        let before = acknowledged
        try eventually(timeout: .seconds(60), "\(count) more are taken") { acknowledged >= before + count }
    }

    /// Waits until so many more are refused.
    func moreRefused(_ count: Int) throws {
        let before = refused
        try eventually(timeout: .seconds(60), "\(count) more are refused") { refused >= before + count }
    }

    // MARK: - The end

    /// What is wrong after everything that was taken is applied and told, by processes that never ended.
    func faults(in database: TestDatabase? = nil) throws -> [String] {
        let database = database ?? self.database
        defer { consumer.stop() }
        let said = { self.workers.map { $0.log.suffix(1500) } }
        try eventually(timeout: .seconds(90), "everything is applied and told; they said: \(said())") {
            try database.count(
                """
                SELECT (SELECT count(*) FROM entitled.pending) + (SELECT count(*) FROM entitled.diverted_notification)
                    + (SELECT count(*) FROM entitled.delivery WHERE state = 0)
                """) == 0
        }
        let (acknowledged, strange) = load.read { ($0.acknowledged, $0.strange) }
        let stored = Set(try database.texts("SELECT uuid FROM entitled.notification"))
        var faults = acknowledged.filter { !stored.contains($0) }.map { "lost: \($0)" }
        faults += strange.map { "answered \($0)" }
        let bodies = Dictionary(grouping: consumer.requests, by: \.id).mapValues { Set($0.map(\.body)).count }
        faults += bodies.filter { $0.value > 1 }.map { "event \($0.key) has \($0.value) bodies" }
        if bodies.count != stored.count { faults.append("\(stored.count) stored, \(bodies.count) told") }
        faults += try database.texts("SELECT reason FROM entitled.held_notification").map { "held: \($0)" }
        for program in [ingest] + workers {
            if program.hasEnded { faults.append("it ended: \(program.log.suffix(2000))") }
            program.kill(SIGTERM)
            if try program.wait() != 0 { faults.append("no orderly end: \(program.log.suffix(2000))") }
        }
        return faults
    }
}
