import Base
import Daemon
import HTTP
import StoreSimulator
import Synchronization
import TestSupport
import Testing

@testable import API

/// Threads and places are shared: slow work of one address or Apple account leaves some for others.
struct WorkShareTests {
    /// A post that stands still until the test lets it go, and one that does not.
    private final class Scene: Sendable {
        let gate = Gate()
        let api: EngineFixture

        init(threads: Int) throws {
            let gate = gate
            api = try EngineFixture(
                [
                    APIRoute("POST", "/v1/receipts", .anyKey) { call in
                        if try call.json()["slow"] == .bool(true) { gate.pass() }
                        return .response(.document(200, .object([])))
                    }
                ], threads: threads, limits: LimitSettings())
        }

        func post(
            _ body: JSON, from address: String, key: String = KeyedAPI.publicKey
        ) -> HTTPCall {
            api.call("POST", "/v1/receipts", body, key: key, headers: ["X-Forwarded-For": address])
        }

        func slow(_ count: Int, from address: String, account: String? = nil) -> [TestThread<Int>] {
            (0..<count).map { _ in
                TestThread { [self] in post(WorkShareTests.body(account, isSlow: true), from: address).status }
            }
        }
    }

    private static func body(_ account: String? = nil, isSlow: Bool) -> JSON {
        let payload = account.map { JSON.object(["appTransactionId": .string($0)]).bytes }
        return .object([
            "slow": .bool(isSlow), "fetch_token": payload.map { .string("e30.\(Base64.encodeURL($0)).e30") },
        ])
    }

    @Test func `one address that holds threads leaves half of them to others`() throws {
        let scene = try Scene(threads: 4)
        defer { scene.gate.open() }
        let slow = scene.slow(12, from: "203.0.113.7")
        try eventually("two stand still") { scene.gate.holding == 2 }
        for number in 0..<20 {
            #expect(scene.post(Self.body(isSlow: false), from: "198.51.100.\(number)").status == 200)
        }
        #expect(scene.gate.holding == 2)
        #expect(slow.allSatisfy { !$0.hasEnded })
        scene.gate.open()
        for thread in slow { #expect(try thread.value() == 200) }
    }

    @Test func `one Apple account has one thread, from whatever addresses, and its owner's other requests go on`()
        throws
    {
        let scene = try Scene(threads: 4)
        defer { scene.gate.open() }
        let slow = (0..<6).flatMap { scene.slow(1, from: "203.0.113.\($0)", account: "7000") }
        try eventually("one stands still") { scene.gate.holding == 1 }
        for number in 0..<6 {
            let other = scene.post(Self.body("800\(number)", isSlow: false), from: "203.0.113.\(number)")
            #expect(other.status == 200)
        }
        #expect(scene.gate.holding == 1)
        scene.gate.open()
        for thread in slow { #expect(try thread.value() == 200) }
    }

    @Test func `of one account only some may wait; one more is told to come again`() throws {
        let scene = try Scene(threads: 4)
        defer { scene.gate.open() }
        let slow = scene.slow(24, from: "203.0.113.7", account: "7000")
        // One is at work and sixteen wait.
        try eventually("seven are refused") { slow.count(where: \.hasEnded) == 7 }
        scene.gate.open()
        let statuses = try slow.map { try $0.value() }
        #expect(statuses.count { $0 == 503 } == 7 && statuses.count { $0 == 200 } == 17)
    }

    @Test func `who has no address is not held to a part, and no account is either`() throws {
        let scene = try Scene(threads: 4)
        defer { scene.gate.open() }
        let slow = (0..<4).map { _ in
            TestThread {
                scene.api.call(
                    "POST", "/v1/receipts", Self.body("7000", isSlow: true), headers: ["Host": "api.example.com"]
                ).status
            }
        }
        try eventually("four stand still") { scene.gate.holding == 4 }
        scene.gate.open()
        for thread in slow { #expect(try thread.value() == 200) }
    }

    @Test func `backends are not held to a part`() throws {
        let scene = try Scene(threads: 4)
        defer { scene.gate.open() }
        let slow = (0..<4).map { _ in
            TestThread {
                scene.post(Self.body(isSlow: true), from: "203.0.113.7", key: KeyedAPI.secretKey).status
            }
        }
        try eventually("four stand still") { scene.gate.holding == 4 }
        scene.gate.open()
        for thread in slow { #expect(try thread.value() == 200) }
    }

    // MARK: - The line by itself

    @Test func `owners take turns, however much one of them brings`() throws {
        let line = BoundedQueue<Int>(limit: 1000, part: .init(busy: 1, waiting: 500, waitingOfAccount: 500))
        for number in 0..<100 {
            #expect(line.add(number, as: WorkShare(owner: 1, isBounded: true)))
        }
        #expect(line.add(1000, as: WorkShare(owner: 2, isBounded: true)))
        #expect(line.add(2000, as: WorkShare(owner: 3, isBounded: true)))
        let done = Mutex<[Int]>([])
        let thread = TestThread { line.run { number in done.withLock { $0.append(number) } } }
        #expect(line.end(until: .now + .seconds(10)))
        try thread.value()
        let order = done.withLock { $0 }
        #expect(Array(order.prefix(4)) == [0, 1000, 2000, 1])
        #expect(order.filter { $0 < 100 } == Array(0..<100))
    }

    @Test func `an owner fills their own places and nobody else's, and what was begun goes on`() {
        let line = BoundedQueue<Int>(limit: 100, part: .init(busy: 1, waiting: 10, waitingOfAccount: 3))
        let (one, other) = (WorkShare(owner: 1, isBounded: true), WorkShare(owner: 2, account: 5, isBounded: true))
        #expect((0..<20).count { line.add($0, as: one) } == 10)
        #expect((0..<20).count { line.add($0, as: other) } == 3)
        // Who names the account of somebody else takes none of their places.
        #expect((0..<20).count { line.add($0, as: WorkShare(owner: 4, account: 5, isBounded: true)) } == 3)
        #expect(line.add(0, as: one, goesOn: true))
        #expect((0..<200).count { line.add($0, as: WorkShare(owner: 3, isBounded: false)) } == 83)
    }
}
