import Base
import Database
import Testing
import Worker

/// Turns and places, without a network: a host takes so long to answer, by a clock that the test moves.
@Suite struct SendQueueTests {
    private struct Scene {
        var queue: SendQueue
        var now = ContinuousClock.now
        let endpoints: [Endpoint]
        /// Requests in flight with what comes of them, and when.
        var flights: [(delivery: DueDelivery, ends: ContinuousClock.Instant, answer: SendQueue.Answer)] = []
        /// What the database has for each, beside what waits in memory.
        var stored: [String: [DueDelivery]] = [:]
        var known: [DeliveryID: DueDelivery] = [:]
        var arrived: [String: Int] = [:]
        var most: [String: Int] = [:]
        let host: (String) -> (answer: SendQueue.Answer, time: Duration)

        init(
            _ ids: [String], limits: SendLimits = SendLimits(), failures: [String: Int] = [:],
            host: @escaping (String) -> (answer: SendQueue.Answer, time: Duration)
        ) {
            queue = SendQueue(limits: limits)
            endpoints = ids.map { Endpoint(id: $0, url: "https://example.com", created: 1, isSendable: true) }
            self.host = host
            _ = queue.update(endpoints, failures: failures, serverNow: 0, now: now)
        }

        mutating func add(_ count: Int, to id: String) {
            for _ in 0..<count {
                let event = [UInt8].random16()
                stored[id, default: []].append(
                    DueDelivery(
                        id: DeliveryID(lane: Lane(number: 1), event: event, endpoint: id), endpoint: id, event: event,
                        eventType: "TEST", attempts: 0, roundStart: 0, body: []))
            }
            fill(id)
        }

        mutating func fill(_ id: String) {
            while queue.room(id) > 0, let delivery = stored[id]?.popLast() {
                known[delivery.id] = delivery
                let isTaken = queue.add(delivery)
                #expect(isTaken)
            }
        }

        mutating func update() {
            for id in queue.update(endpoints, failures: [:], serverNow: 0, now: now) {
                if let delivery = known[id] { stored[delivery.endpoint, default: []].append(delivery) }
            }
            for endpoint in endpoints { fill(endpoint.id) }
        }

        /// Lets time pass in steps of 10 ms, with an update every 200 ms.
        mutating func run(_ duration: Duration) {
            let end = now + duration
            var step = 0
            while now < end {
                if step % 20 == 0 { update() }
                _ = queue.resume()
                send()
                step += 1
                now += .milliseconds(10)
                for flight in flights where flight.ends <= now {
                    queue.landed(flight.delivery, flight.answer, now: now)
                    if flight.answer == .arrived { arrived[flight.delivery.endpoint, default: 0] += 1 }
                }
                flights.removeAll { $0.ends <= now }
            }
        }

        mutating func send() {
            for (delivery, endpoint) in queue.next(now: now) {
                let fate = host(endpoint.id)
                flights.append((delivery, now + fate.time, fate.answer))
            }
            #expect(queue.inFlight == flights.count && flights.count <= queue.limits.total)
            for (id, all) in Dictionary(grouping: flights, by: \.delivery.endpoint) {
                most[id] = max(most[id] ?? 0, all.count)
            }
        }
    }

    private func ids(_ kind: String, _ count: Int) -> [String] { (0..<count).map { "\(kind)\($0)" } }

    @Test func `an endpoint never has more in flight than its share`() {
        var scene = Scene(["a", "b"], failures: ["a": 0, "b": 0]) { _ in (.arrived, .milliseconds(50)) }
        scene.add(100, to: "a")
        scene.add(5, to: "b")
        scene.run(.seconds(2))
        #expect(scene.arrived == ["a": 100, "b": 5])
        #expect(scene.most == ["a": 8, "b": 5])
        #expect(scene.queue.inFlight == 0 && scene.queue.suspectsInFlight == 0)
    }

    @Test func `turns are fair: who has thousands waiting gets no more of them`() {
        var limits = SendLimits(perEndpoint: 4, total: 16)
        limits.workers = 1
        var scene = Scene(ids("h", 10), limits: limits) { _ in (.arrived, .milliseconds(100)) }
        scene.add(2000, to: "h0")
        for id in ids("h", 10).dropFirst() { scene.add(20, to: id) }
        scene.run(.seconds(2))
        let others = scene.arrived.filter { $0.key != "h0" }.values
        #expect(others.count == 9 && others.allSatisfy { $0 == 20 })
    }

    @Test(arguments: [1, 2, 8, 30, 80], [true, false])
    func `hosts that hang leave places to the others, also if all of them were well`(dead: Int, wereWell: Bool) {
        let limits = SendLimits(perEndpoint: 8, total: 64)
        let healthy = 40
        let all = ids("dead", dead) + ids("ok", healthy)
        let failures = wereWell ? Dictionary(uniqueKeysWithValues: all.map { ($0, 0) }) : [:]
        var scene = Scene(all, limits: limits, failures: failures) { id in
            id.hasPrefix("dead") ? (.strained, .seconds(30)) : (.arrived, .milliseconds(20))
        }
        for id in ids("dead", dead) { scene.add(200, to: id) }
        for id in ids("ok", healthy) { scene.add(50, to: id) }
        // More of them than there are places may take all until they time out, once.
        scene.run(dead < limits.total ? .seconds(10) : .seconds(100))
        for id in ids("ok", healthy) { #expect(scene.arrived[id] == 50) }
    }

    @Test func `once they are known, hosts that hang hold half of the places, however many they are`() {
        let limits = SendLimits(perEndpoint: 8, total: 64)
        var scene = Scene(ids("dead", 500) + ids("ok", 10), limits: limits) { id in
            id.hasPrefix("dead") ? (.strained, .seconds(30)) : (.arrived, .milliseconds(20))
        }
        for id in ids("dead", 500) { scene.add(20, to: id) }
        // Every one of them was tried and timed out several times.
        scene.run(.seconds(700))
        for id in ids("ok", 10) { scene.add(300, to: id) }
        scene.run(.seconds(5))
        #expect(scene.queue.suspectsInFlight <= 32)
        for id in ids("ok", 10) { #expect(scene.arrived[id] == 300) }
    }

    @Test func `who failed before this worker began is known as failing`() {
        let limits = SendLimits(perEndpoint: 8, total: 64)
        let dead = ids("dead", 500)
        let failures = Dictionary(uniqueKeysWithValues: dead.map { ($0, 10) })
        var scene = Scene(dead + ["ok"], limits: limits, failures: failures) { id in
            id == "ok" ? (.arrived, .milliseconds(20)) : (.strained, .seconds(30))
        }
        for id in dead { scene.add(20, to: id) }
        scene.send()
        #expect(scene.queue.inFlight == 32 && scene.queue.suspectsInFlight == 32)
        scene.add(100, to: "ok")
        scene.run(.seconds(1))
        #expect(scene.arrived["ok"] == 100)
    }

    @Test func `strain takes places away, and successes give them back`() {
        let isDown = Box(true)
        var scene = Scene(["a"]) { _ in (isDown.value ? .strained : .arrived, .milliseconds(10)) }
        scene.add(60, to: "a")
        scene.run(.milliseconds(400))
        scene.most = [:]
        scene.run(.milliseconds(100))
        #expect(scene.most["a"] == 1)
        isDown.value = false
        scene.add(6000, to: "a")
        scene.run(.seconds(12))
        scene.most = [:]
        scene.run(.milliseconds(200))
        #expect(scene.most["a"] == 8)
    }

    @Test func `after an outage the backlog goes out slowly at first`() {
        let isDown = Box(true)
        var scene = Scene(["a", "b"]) { id in
            (id == "a" && isDown.value ? .refused : .arrived, .milliseconds(10))
        }
        scene.add(10, to: "a")
        scene.run(.seconds(1))
        isDown.value = false
        scene.add(2000, to: "a")
        var each: [Int] = []
        for _ in 0..<5 {
            let before = scene.arrived["a"] ?? 0
            scene.run(.seconds(1))
            each.append((scene.arrived["a"] ?? 0) - before)
        }
        for (second, count) in each.enumerated() {
            #expect((1 << second) - 1 <= count && count <= (1 << second) * 5 / 4 + 10, "second \(second): \(each)")
        }
        #expect(each[0] <= 10 && each[1] <= 3)
        scene.add(500, to: "b")
        scene.run(.seconds(1))
        #expect(scene.arrived["b"] == 500)
    }

    @Test func `little of what will wait for long is kept in memory, and nothing of it is lost`() {
        let isDown = Box(true)
        var scene = Scene(["a"], failures: ["a": 0]) { _ in
            (isDown.value ? .strained : .arrived, isDown.value ? .seconds(30) : .milliseconds(1))
        }
        scene.add(1500, to: "a")
        #expect(scene.stored["a"]?.count == 1500 - 512)
        scene.run(.seconds(4))
        #expect(scene.queue.room("a") == 0 && scene.stored["a"]?.count == 1500 - 8 - 32)
        isDown.value = false
        scene.run(.seconds(60))
        #expect(scene.arrived["a"] == 1500 - 8 && scene.stored["a"]?.isEmpty == true && scene.queue.inFlight == 0)
    }

    @Test func `who is paused costs the others nothing and goes on by the database's clock`() {
        var queue = SendQueue(limits: SendLimits())
        let now = ContinuousClock.now
        let paused = Endpoint(
            id: "a", url: "https://example.com", pausedUntil: 61_000, created: 1, isSendable: true)
        _ = queue.update([paused], failures: [:], serverNow: 1000, now: now)
        let delivery = DueDelivery(
            id: DeliveryID(lane: Lane(number: 1), event: [1], endpoint: "a"), endpoint: "a", event: [1],
            eventType: "TEST", attempts: 0, roundStart: 0, body: [])
        _ = queue.add(delivery)
        let counts = [1000, 60_999, 61_000].map { instant in
            _ = queue.update([paused], failures: [:], serverNow: Int64(instant), now: now)
            return queue.next(now: now).count
        }
        #expect(counts == [0, 0, 1])
    }

    /// What a host of a test remembers.
    private final class Box {
        var value: Bool
        init(_ value: Bool) { self.value = value }
    }
}

extension [UInt8] {
    fileprivate static func random16() -> [UInt8] { (0..<16).map { _ in .random(in: 0...255) } }
}
