import API
import Base
import HTTP
import StoreSimulator
import TestSupport
import Testing

/// Callers that keep Apple busy with ids that Apple does not know, and the callers beside them.
@Suite struct AppleLineTests {
    private let installation: Installation
    private let worker: RunningWorker
    private let life: SubscriberLife
    private let apple: PlayedHistory

    /// Apple takes one second for each answer about a transaction.
    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 720)
        let started = life.start(lasts: 60 * StoreProduct.day, at: Installation.start)
        self.life = life
        apple = try PlayedHistory(
            installation, [started], faults: [StoreFault(.slow, path: "/v1/transactions/", seconds: 1)])
    }

    private static func body(_ id: String) -> JSON { .object(["original_transaction_id": .string(id)]) }

    @Test func `a backend is answered beside eighty callers that name what Apple does not know`() throws {
        defer { worker.stop() }
        let bench = try PostingFixture(installation, apple: apple)
        let strangers = (0..<80).map { number in
            TestThread { bench.call("/apple/transactions", Self.body("9000\(number)")).status }
        }
        try eventually("Apple is asked about strangers") { !apple.calls.isEmpty }
        let began = ContinuousClock.now
        let answer = bench.call(
            "/apple/transactions", Self.body(life.latest.originalID), key: PostingFixture.secretKey)
        #expect(answer.status == 200, "\(answer.text)")
        // Alone it takes one second; behind the eighty it would take ten.
        #expect(ContinuousClock.now - began < .seconds(6))
        for stranger in strangers { #expect([404, 503].contains(try stranger.value())) }
    }

    @Test func `another address is answered beside one that fills the line with ids that Apple does not know`() throws {
        defer { worker.stop() }
        let bench = try PostingFixture(installation, apple: apple, limits: LimitSettings())
        let strangers = (0..<40).map { number in
            TestThread { bench.call("/apple/transactions", Self.body("9100\(number)"), from: "203.0.113.7").status }
        }
        try eventually("Apple is asked about strangers") { !apple.calls.isEmpty }
        let began = ContinuousClock.now
        let answer = bench.call(
            "/apple/transactions", Self.body(life.latest.originalID), from: "198.51.100.1")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(ContinuousClock.now - began < .seconds(6))
        let statuses = try strangers.map { try $0.value() }
        // No more of one address may wait.
        #expect(statuses.contains(503) && statuses.contains(404))
    }

    @Test func `whoever waits for a place waits from the arrival on, and not for long`() throws {
        defer { worker.stop() }
        let slow = try PlayedHistory(
            installation, life.notifications, faults: [StoreFault(.slow, path: "/v1/transactions/", seconds: 6)])
        let bench = try PostingFixture(installation, apple: slow)
        let began = ContinuousClock.now
        let strangers = (0..<20).map { number in
            TestThread { () -> (Int, Duration) in
                let status = bench.call("/apple/transactions", Self.body("9200\(number)")).status
                return (status, ContinuousClock.now - began)
            }
        }
        // One address has two of the threads that call Apple. Its first two requests are answered after six seconds; all
        // others would be after twelve, and wait for ten at most.
        let answers = try strangers.map { try $0.value(timeout: .seconds(60)) }
        #expect(answers.filter { $0.0 == 404 }.count == 2)
        #expect(answers.allSatisfy { [404, 503].contains($0.0) && $0.1 < .seconds(14) }, "\(answers)")
    }

    @Test func `an id that Apple does not know is not asked for again, unless it becomes known here`() throws {
        defer { worker.stop() }
        let quick = try PlayedHistory(installation, [])
        let bench = try PostingFixture(installation, apple: quick)
        let id = life.latest.originalID
        #expect(bench.call("/apple/transactions", Self.body(id)).status == 404)
        let asked = quick.calls.count
        #expect(asked > 0)
        for _ in 0..<5 { #expect(bench.call("/apple/transactions", Self.body(id)).status == 404) }
        #expect(quick.calls.count == asked)
        // Apple tells of it.
        try installation.postAll(life.notifications)
        try installation.untilApplied(1)
        #expect(bench.call("/apple/transactions", Self.body(id)).status == 404)
        #expect(quick.calls.count > asked)
    }

    @Test func `the answer says that an app user id is passed over`() throws {
        defer { worker.stop() }
        let quick = try PlayedHistory(installation, life.notifications)
        let bench = try PostingFixture(installation, apple: quick)
        let id = life.latest.originalID
        for key in [PostingFixture.publicKey, PostingFixture.secretKey] {
            let plain = bench.call("/apple/transactions", Self.body(id), key: key)
            #expect(plain.status == 200 && plain.header("entitled-ignored") == nil)
            let naming = bench.call(
                "/apple/transactions", Self.body(id).with("app_user_id", .string("mallory")), key: key)
            #expect(naming.status == 200 && naming.header("entitled-ignored") == "app_user_id")
            #expect(!naming.text.contains("mallory"))
        }
    }
}
