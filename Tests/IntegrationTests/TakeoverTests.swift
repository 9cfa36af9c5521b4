import Base
import Daemon
import Database
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

@Suite struct TakeoverTests {
    private func start(_ installation: Installation, seed: UInt64) throws {
        var life = SubscriberLife(app: Installation.app, seed: seed)
        let answer = try installation.post(life.start(at: Installation.start))
        guard answer.status == 200 else { throw TestFailure("answered \(answer.status)") }
    }

    @Test func `another worker goes on when the first stops renewing`() throws {
        let installation = try Installation()
        let first = try RunningWorker(installation, lease: .seconds(2))
        try first.log.wait(for: "lanes gained")
        let second = try RunningWorker(installation, lease: .seconds(2))
        defer { first.stop(); second.stop() }
        first.brake.close()
        try eventually("the first worker stands still") { first.brake.isHolding }
        try start(installation, seed: 20)
        let begun = ContinuousClock.now
        try installation.untilApplied(1, timeout: .seconds(15))
        // A lease, and a third of one until it is looked for.
        #expect(ContinuousClock.now - begun < .seconds(8))
        try eventually("all lanes are the second's") {
            try installation.database.count("SELECT count(DISTINCT owner) FROM entitled.lane") == 1
        }
    }

    @Test func `what a worker that lost its lanes brings back is not written`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        _ = try installation.addEndpoint(consumer)
        let late = try RunningWorker(installation, lease: .seconds(2))
        try start(installation, seed: 21)
        _ = try consumer.wait(1)
        late.brake.close()
        try eventually("the worker stands still") { late.brake.isHolding }
        let heir = try RunningWorker(installation, lease: .seconds(2))
        defer { late.stop(); heir.stop(); consumer.stop() }
        let requests = try consumer.wait(2)
        #expect(Set(requests.map(\.id)).count == 1)
        #expect(Set(requests.map(\.body)).count == 1)
        try installation.untilDeliveries(1, .delivered)
        // The first attempt fails now, and its worker comes back with that.
        consumer.release(500)
        try eventually("the answer is back") {
            late.metrics.exposition().contains("\(Metric.clientInFlight.name) 0\n")
        }
        late.brake.open()
        try late.log.wait(for: "lanes lost")
        try eventually("both own lanes again") {
            try installation.database.count("SELECT count(DISTINCT owner) FROM entitled.lane") == 2
        }
        let connection = try installation.database.connect()
        let delivery = try #require(
            try DeliveryQuery.list(.init(), .init(limit: 5), on: connection).rows.first)
        #expect(delivery.state == .delivered && delivery.attempts == 1 && delivery.lastStatus == 200)
        let attempts = try DeliveryQuery.show(delivery.id, on: connection)?.attempts
        #expect(attempts?.map(\.status) == [200])
    }

    @Test func `a worker that is stopped gives its lanes back at once`() throws {
        let installation = try Installation()
        let first = try RunningWorker(installation, lease: .seconds(60))
        try first.log.wait(for: "lanes gained")
        first.stop()
        #expect(try installation.database.count("SELECT count(owner) FROM entitled.lane") == 0)
        let second = try RunningWorker(installation, lease: .seconds(60))
        defer { second.stop() }
        try start(installation, seed: 22)
        try installation.untilApplied(1, timeout: .seconds(10))
    }

    @Test func `a webhook that is cut by the end of its worker costs no attempt and goes to the next`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        let (endpoint, _) = try installation.addEndpoint(consumer)
        let first = try RunningWorker(installation, drainTimeout: .seconds(1))
        try start(installation, seed: 23)
        _ = try consumer.wait(1)
        first.stop()
        let connection = try installation.database.connect()
        let cut = try #require(
            try DeliveryQuery.list(.init(endpoint: endpoint), .init(limit: 5), on: connection).rows.first)
        #expect(cut.state == .pending && cut.attempts == 0)
        #expect(try DeliveryQuery.show(cut.id, on: connection)?.attempts.map(\.outcome) == ["interrupted"])
        let second = try RunningWorker(installation)
        defer { second.stop(); consumer.stop() }
        let requests = try consumer.wait(2)
        #expect(requests[0].id == requests[1].id && requests[0].body == requests[1].body)
        #expect(requests.map(\.attempt) == ["1", "1"])
        try installation.untilDeliveries(1, .delivered)
    }

    @Test func `a webhook that ends while its worker drains is written down`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, _ in .hold }
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation, drainTimeout: .seconds(20))
        defer { consumer.stop() }
        try start(installation, seed: 24)
        _ = try consumer.wait(1)
        let stopping = TestThread { worker.stop() }
        try eventually("the other lanes are free") {
            try installation.database.count("SELECT count(owner) FROM entitled.lane") < 10
        }
        consumer.release(200)
        try stopping.value()
        try installation.untilDeliveries(1, .delivered)
        #expect(try installation.database.count("SELECT count(owner) FROM entitled.lane") == 0)
    }

    @Test func `three workers that come and go apply everything once`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let count: UInt64 = 150
        let posting = TestThread {
            var lives = (0..<count).map { SubscriberLife(app: Installation.app, seed: 25, number: $0) }
            try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
        }
        let workers = try (0..<3).map { _ in try RunningWorker(installation, lease: .seconds(2)) }
        _ = try consumer.wait(20)
        workers[0].stop()
        let fourth = try RunningWorker(installation, lease: .seconds(2))
        try posting.value()
        try installation.untilApplied(Int64(count))
        try installation.untilDeliveries(Int64(count), .delivered, timeout: .seconds(40))
        for worker in workers.dropFirst() + [fourth] { worker.stop() }
        consumer.stop()
        #expect(Set(consumer.requests.map(\.id)).count == Int(count))
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") == Int64(count))
    }
}

/// A wall clock that is days off, elsewhere at every look.
private struct ErraticClock: WallClock {
    func now() -> Int64 { SystemClock().now() + .random(in: -10...10) * StoreProduct.day }
}

extension TakeoverTests {
    @Test func `a wall clock that jumps makes a worker neither lose its lanes nor keep them`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let erratic = try RunningWorker(installation, lease: .seconds(2), clock: ErraticClock())
        try erratic.log.wait(for: "lanes gained")
        let connection = try installation.database.connect()
        func lanes() throws -> [String] {
            try connection.query("SELECT lane || ' ' || owner || ' ' || epoch FROM entitled.lane ORDER BY lane").map {
                try $0.text(0)
            }
        }
        let before = try lanes()
        var notifications: Int64 = 0
        // Three leases and more; the server's clock is the judge.
        let begun = try connection.query("SELECT clock_timestamp()::text").one().text(0)
        while try connection.query(
            "SELECT min(lease_until) < $1::timestamptz + interval '8 s' FROM entitled.lane", [.text(begun)]
        ).one().bool(0) {
            var life = SubscriberLife(app: Installation.app, seed: 26, number: UInt64(notifications))
            #expect(try installation.post(life.start(at: Installation.start)).status == 200)
            notifications += 1
            try installation.untilApplied(notifications)
            #expect(
                try connection.query(
                    "SELECT count(*) FROM entitled.lane WHERE lease_until < clock_timestamp()"
                ).one().int(0) == 0)
        }
        #expect(try lanes() == before)
        // Standing still it loses them like any other.
        erratic.brake.close()
        try eventually("the worker stands still") { erratic.brake.isHolding }
        let heir = try RunningWorker(installation, lease: .seconds(2))
        defer { erratic.stop(); heir.stop(); consumer.stop() }
        try eventually("all lanes are the other's") {
            try connection.query(
                "SELECT count(*) = 0 FROM entitled.lane WHERE (lane || ' ' || owner || ' ' || epoch) = ANY ($1::text[])",
                [.texts(before)]
            ).one().bool(0)
        }
        erratic.brake.open()
        try erratic.log.wait(for: "lanes lost")
        try installation.untilDeliveries(notifications, .delivered)
        try installation.expectNoDifferences()
    }
}
