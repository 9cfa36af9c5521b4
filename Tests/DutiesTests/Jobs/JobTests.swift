import Base
import Crypto
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

@Suite struct JobTests {
    private let driver = [UInt8](repeating: 1, count: 16)
    private let other = [UInt8](repeating: 2, count: 16)

    private func expire(_ bench: ReplayFixture) throws {
        try bench.database.execute("UPDATE entitled.job SET lease_until = now() - interval '1 s'")
    }

    @Test func `the same words find the job that is not over, and make one once it is`() throws {
        let bench = try ReplayFixture()
        let endpoint = try bench.addEndpoint()
        let job = try bench.open(bench.replay(endpoint, .failed))
        #expect(try bench.open(bench.replay(endpoint, .failed)).id == job.id)
        #expect(try bench.open(bench.replay(endpoint, .failed), words: "others").id != job.id)
        let made = try JobTable.make(
            bench.replay(endpoint, .failed).request(since: "test", until: nil, rate: nil, madeBy: "tester"),
            on: bench.connection)
        #expect(made == nil)
        #expect(try bench.run(job, consuming: endpoint).state == .done)
        #expect(try bench.open(bench.replay(endpoint, .failed)).id > job.id)
        #expect(try JobTable.list(atMost: 10, on: bench.connection).map(\.state) == [.running, .running, .done])
    }

    @Test func `one drives, another only after the lease, and who comes back late writes nothing`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<100)
        let endpoint = try bench.addEndpoint()
        let job = try bench.openAlone(bench.replay(endpoint, .missing))
        let lease = try #require(try JobLease.take(job.id, driver: driver, on: bench.connection))
        #expect(try JobLease.take(job.id, driver: other, on: bench.connection) == nil)
        var (work, second) = (WebhookReplayWork(), WebhookReplayWork())
        #expect(try work.step(lease, on: bench.connection).job.counts.queued == 64)
        try expire(bench)
        let taken = try #require(try JobLease.take(job.id, driver: other, on: bench.connection))
        try bench.consume(endpoint)
        #expect(throws: JobLease.Lost.self) { try work.step(lease, on: bench.connection) }
        #expect(try bench.count(endpoint, .pending) == 0)
        #expect(try second.step(taken, on: bench.connection).job.counts.queued == 100)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery") == 100)
    }

    @Test func `a step that is not committed leaves no trace`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<100)
        let endpoint = try bench.addEndpoint()
        let job = try bench.open(bench.replay(endpoint, .missing))
        let doomed = try bench.database.connect(role: "entitled_worker")
        let lease = try #require(try JobLease.take(job.id, driver: driver, on: doomed))
        struct Death: Error {}
        #expect(throws: Death.self) {
            try lease.step(on: doomed) { job, now in
                job.counts.queued = 1
                _ = try DeliveryReplay.queue(
                    known: [], in: [],
                    new: [DeliveryReplay.EventKey(lane: Lane(number: 1), id: ReplayFixture.event(1).id)],
                    to: try bench.endpoint(endpoint), now: now, on: doomed)
                throw Death()
            }
        }
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery") == 0)
        #expect(try JobTable.find(job.id, on: bench.connection)?.counts == JobCounts())
    }

    @Test func `a cancelled one stops where it is, and what it put in line stays`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<100)
        let endpoint = try bench.addEndpoint()
        let job = try bench.openAlone(bench.replay(endpoint, .missing))
        let end = try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
            on: bench.connection, rest: { _ in }
        ) { job, _ in
            let cancelled = try JobTable.cancel(job.id, on: bench.connection)
            #expect(cancelled?.state == .cancelled)
            return false
        }
        #expect(end.state == .cancelled)
        #expect(end.counts.queued == 64)
        #expect(try bench.count(endpoint, .pending) == 64)
        #expect(try JobTable.cancel(job.id, on: bench.connection) == nil)
    }

    @Test func `an endpoint that is disabled meanwhile stops it, and the same words go on there`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<100)
        let endpoint = try bench.addEndpoint()
        let job = try bench.openAlone(bench.replay(endpoint, .missing))
        let end = try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
            on: bench.connection, rest: { _ in }
        ) { _, _ in
            try bench.consume(endpoint)
            _ = try EndpointTable.disable(endpoint, reason: "status 410", on: bench.connection)
            return false
        }
        #expect(end.state == .failed)
        #expect(end.error?.contains("status 410") == true)
        _ = try EndpointTable.enable(endpoint, on: bench.connection)
        let again = try bench.open(bench.replay(endpoint, .missing))
        #expect(again.id == job.id && again.state == .running && again.counts.queued == 64)
        #expect(try bench.run(again, consuming: endpoint).counts == JobCounts(matched: 100, queued: 100))
    }

    @Test func `a worker goes on with what nobody attends to, if the first lane is its own`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<30)
        let endpoint = try bench.addEndpoint()
        let job = try bench.open(bench.replay(endpoint, .missing))
        let left = try #require(try JobLease.take(job.id, driver: other, on: bench.connection))
        let service = DutyService(
            JobDuty(worker: driver, kinds: [WebhookReplayWork.kind], logger: .silent),
            session: PostgresSession(bench.database.target(role: "entitled_worker")),
            leadership: Leadership(worker: driver, lease: .seconds(10)), logger: .silent, metrics: Metrics())
        service.start()
        defer { service.drain(until: .now + .seconds(5)) }
        try left.release(on: bench.connection)
        let looks = try bench.database.count("SELECT count(*) FROM entitled.job WHERE driver IS NULL")
        #expect(looks == 1)
        try bench.database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(driver)])
        try eventually("the worker has done it") {
            try JobTable.find(job.id, on: bench.connection)?.state == .done
        }
        #expect(try bench.count(endpoint, .pending) == 30)
    }

    /// Waits for ever, or is done at once.
    private struct Runner: JobRunner {
        let waits: Bool

        mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
            let step = try lease.step(on: connection) { job, _ in if !waits { job.state = .done } }
            return JobStep(step.job, pause: .seconds(1), isWaiting: waits)
        }
    }

    /// Fails as long as its table is missing.
    private struct FailingRunner: JobRunner {
        mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
            let step = try lease.step(on: connection) { job, _ in
                _ = try connection.query("SELECT FROM public.needed")
                job.state = .done
            }
            return JobStep(step.job)
        }
    }

    @Test func `a job whose steps fail says why, until one succeeds`() throws {
        let bench = try ReplayFixture()
        let request = JobTable.Request(kind: "fails", words: "f", parameters: .object([:]), rate: nil, madeBy: "tester")
        let id = try #require(try JobTable.make(request, on: bench.connection)).id
        try bench.database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(driver)])
        let service = DutyService(
            JobDuty(worker: driver, kinds: [JobKind("fails") { FailingRunner() }], logger: .silent),
            session: PostgresSession(bench.database.target(role: "entitled_worker")),
            leadership: Leadership(worker: driver, lease: .seconds(10)), logger: .silent, metrics: Metrics())
        service.start()
        defer { service.drain(until: .now + .seconds(5)) }
        try eventually("the failure is shown") {
            let job = try JobTable.find(id, on: bench.connection)
            return job?.state == .running && job?.error?.contains("public.needed") == true
        }
        try bench.database.execute("CREATE TABLE public.needed ()")
        try bench.database.execute("GRANT SELECT ON public.needed TO entitled_worker")
        try eventually("it is done") { try JobTable.find(id, on: bench.connection)?.state == .done }
        #expect(try JobTable.find(id, on: bench.connection)?.error == nil)
    }

    /// Does a step, and fails from then on at the same place.
    private struct StuckRunner: JobRunner {
        mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
            let step = try lease.step(on: connection) { job, _ in
                if !job.cursor.isEmpty { _ = try connection.query("SELECT FROM public.missing") }
                job.cursor = ["1"]
            }
            return JobStep(step.job)
        }
    }

    @Test(arguments: [true, false])
    func `a job whose steps go on failing ends, and says what to do`(isChange: Bool) throws {
        let bench = try ReplayFixture()
        let kind = isChange ? ChangeKind.replayHistory.rawValue : "stuck"
        let id: Int64
        if isChange {
            _ = try ConsoleUserTable.add("carl", .operator, now: 1, on: bench.connection)
            let request = ChangeTable.Request(
                .replayHistory, "demo/Production", parameters: .object([JSON.Member]()), reason: "x",
                by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "", userAgent: nil),
                idempotencyKey: "k", fingerprint: [UInt8](repeating: 1, count: 32))
            let answer = try ChangeTable.ask(request, on: try bench.database.connect(role: "entitled_console"))
            guard case .asked(let number) = answer else { throw TestFailure("\(answer)") }
            id = number
        } else {
            let request = JobTable.Request(
                kind: kind, words: "s", parameters: .object([:]), rate: nil, madeBy: "tester")
            id = try #require(try JobTable.make(request, on: bench.connection)).id
        }
        // Some failed before, of another driver.
        try bench.database.execute("UPDATE entitled.job SET attempts = 7")
        try bench.database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(driver)])
        let service = DutyService(
            JobDuty(worker: driver, kinds: [JobKind(kind) { StuckRunner() }], logger: .silent),
            session: PostgresSession(bench.database.target(role: "entitled_worker")),
            leadership: Leadership(worker: driver, lease: .seconds(10)), logger: .silent, metrics: Metrics())
        service.start()
        defer { service.drain(until: .now + .seconds(5)) }
        try eventually(timeout: .seconds(40), "it is given up") {
            try JobTable.find(id, on: bench.connection)?.state == .failed
        }
        let job = try #require(try JobTable.find(id, on: bench.connection))
        #expect(job.error?.contains("10 steps failed, one after the other") == true, "\(job)")
        #expect(job.error?.contains(isChange ? "ask for it again." : "run the same command again") == true, "\(job)")
        let audit = try bench.database.texts("SELECT kind || ' ' || outcome FROM entitled.audit")
        #expect(audit == (isChange ? ["replay_history failed"] : []))
    }

    @Test func `jobs that wait keep no other one from being done, however many they are`() throws {
        let bench = try ReplayFixture()
        func make(_ kind: String, _ words: String) throws -> Int64 {
            let job = try JobTable.make(
                JobTable.Request(kind: kind, words: words, parameters: .object([:]), rate: nil, madeBy: "tester"),
                on: bench.connection)
            return try #require(job).id
        }
        for number in 0..<70 { _ = try make("waits", "w \(number)") }
        let last = try make("ends", "last")
        try bench.database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(driver)])
        let kinds = [JobKind("waits") { Runner(waits: true) }, JobKind("ends") { Runner(waits: false) }]
        let service = DutyService(
            JobDuty(worker: driver, kinds: kinds, logger: .silent),
            session: PostgresSession(bench.database.target(role: "entitled_worker")),
            leadership: Leadership(worker: driver, lease: .seconds(10)), logger: .silent, metrics: Metrics())
        service.start()
        defer { service.drain(until: .now + .seconds(5)) }
        try eventually("the last is done") { try JobTable.find(last, on: bench.connection)?.state == .done }
    }
}
