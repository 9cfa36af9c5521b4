import Base
import Database
import TestSupport
import Testing
import Worker

/// Days of retries in virtual time, on a real database.
@Suite struct ScheduleTests {
    private static let hour: Int64 = 3_600_000
    private let waits: [Int64] = [1, 12, 24, 48, 72]

    private func sender(limits: SendLimits = SendLimits()) throws -> VirtualSender {
        try VirtualSender(schedule: waits.map { .seconds($0 * 3600) }, limits: limits)
    }

    /// Days by which the wall clock of this host jumps before each attempt.
    @Test(arguments: [[0], [10, -20, 10, -10, 20, -3], [-10, -10, 30, -30, 5, 5]])
    func `six attempts in 157 hours, each at its time by the database's clock, whatever this host's clock does`(
        jumps: [Int64]
    ) throws {
        let consumer = try Consumer { _, _ in .status(500) }
        defer { consumer.stop() }
        let sender = try sender()
        _ = try sender.addEndpoint(consumer.url())
        try sender.addEvents([1])
        let begun = sender.now
        for (attempt, wait) in waits.enumerated() {
            sender.wall.advance(by: .seconds(jumps[attempt % jumps.count] * 86_400))
            #expect(try sender.turn() == 1)
            let next = try sender.next()
            let (least, most) = (wait * ScheduleTests.hour, wait * ScheduleTests.hour * 102 / 100)
            #expect(next - sender.now >= least && next - sender.now <= most)
            sender.now = next - 1
            sender.wall.advance(by: .seconds(jumps[attempt % jumps.count] * -86_400))
            #expect(try sender.turn() == 0, "sent early")
            sender.now = next
        }
        #expect(try sender.turn() == 1)
        #expect(try sender.states() == ["dead"])
        sender.now += 1000 * ScheduleTests.hour
        #expect(try sender.turn() == 0)
        #expect(consumer.requests.map(\.attempt) == ["1", "2", "3", "4", "5", "6"])
        #expect(Set(consumer.requests.map(\.id)).count == 1)
        // The time that is signed is the database's.
        let signed = consumer.requests.compactMap { Int64($0.headers["webhook-timestamp"] ?? "") }
        #expect(signed.count == 6 && signed[0] - begun / 1000 <= 20 && signed[0] >= begun / 1000)
        let hours = Double((signed.last ?? 0) - (signed.first ?? 0)) / 3600
        #expect(hours >= 157 && hours <= 157 * 1.02 + 0.1)
    }

    @Test func `429 with Retry-After pauses the endpoint's other deliveries, and loses no attempt of theirs`() throws {
        let consumer = try Consumer { request, _ in
            request.attempt == "1" && request.id.hasPrefix("01")
                ? .status(429, headers: ["retry-after": "7200"]) : .status(200)
        }
        let other = try Consumer()
        defer { consumer.stop(); other.stop() }
        let sender = try sender()
        let (busy, calm) = (try sender.addEndpoint(consumer.url()), try sender.addEndpoint(other.url()))
        try sender.addEvents([1], only: busy)
        #expect(try sender.turn() == 1)
        try sender.addEvents([2, 3], only: busy)
        try sender.addEvents([4], only: calm)
        #expect(try sender.turn() == 1)
        #expect(other.requests.count == 1 && consumer.requests.count == 1)
        sender.now += 2 * ScheduleTests.hour - 1
        #expect(try sender.turn() == 0)
        sender.now += 1
        #expect(try sender.turn() == 3)
        #expect(try sender.states().allSatisfy { $0 == "delivered" })
        #expect(consumer.requests.map(\.attempt).sorted() == ["1", "1", "1", "2"])
    }

    @Test func `an event that the consumer asks to give up is dead at once, and the others go on`() throws {
        let consumer = try Consumer { request, _ in
            request.id.hasPrefix("01") ? .status(422, headers: ["Webhook-Delivery": "abort"]) : .status(200)
        }
        defer { consumer.stop() }
        let sender = try sender()
        _ = try sender.addEndpoint(consumer.url())
        try sender.addEvents([1, 2])
        #expect(try sender.turn() == 2)
        let deliveries = try DeliveryQuery.list(.init(state: .dead), .init(limit: 9), on: sender.connection).rows
        #expect(deliveries.map(\.reason) == ["the consumer asked to give it up: status 422"])
        #expect(try sender.states().sorted() == ["dead", "delivered"])
    }

    @Test func `a consumer that asks for it by a header is disabled, and its events are held`() throws {
        let consumer = try Consumer { _, _ in .status(400, headers: ["webhook-delivery": "disable"]) }
        defer { consumer.stop() }
        let sender = try sender()
        let id = try sender.addEndpoint(consumer.url())
        try sender.addEvents([1])
        try sender.turn()
        try sender.turn()
        let endpoint = try #require(try EndpointTable.list(id: id, on: sender.connection).first)
        #expect(endpoint.disabledReason == EndpointDisabling.asked.text)
        #expect(try EndpointHealthTable.disablings(on: sender.connection) == [id: .asked])
        #expect(try sender.states() == ["held"])
    }
}
