import Base
import Daemon
import Database
import HTTP
import TestSupport
import Testing
import Worker

/// The sender with a consumer or two, without a database.
@Suite struct DeliveryEngineTests {
    private final class Sender {
        let engine: DeliveryEngine
        let client: HTTPClient
        private let bell = Monitor(0)

        init() throws {
            let networks = ["127.0.0.0/8"].compactMap { Network(parsing: $0) }
            client = try HTTPClient(
                configuration: HTTPClientConfiguration(allowedNetworks: networks), logger: .silent, metrics: Metrics())
            client.start()
            let bell = bell
            engine = DeliveryEngine(
                client: client, timeout: .seconds(20), clock: SystemClock(), metrics: Metrics(),
                onResult: { bell.change { $0 += 1 } })
        }

        deinit {
            client.stop()
        }

        /// Endpoints that all have answered before.
        func update(_ endpoints: [Endpoint], now: Int64 = SystemClock().now()) {
            engine.update(
                endpoints, failures: Dictionary(uniqueKeysWithValues: endpoints.map { ($0.id, 0) }), now: now)
        }

        /// Takes results until there are so many.
        func results(_ count: Int) throws -> [AttemptResult] {
            var taken: [AttemptResult] = []
            try eventually("\(count) results") {
                taken += engine.takeResults(atMost: 100)
                return taken.count >= count
            }
            return taken
        }
    }

    private func endpoint(
        _ id: String, _ consumer: Consumer, schedule: RetrySchedule? = nil, disabled: String? = nil,
        pausedUntil: Int64 = 0
    ) -> Endpoint {
        Endpoint(
            id: id, url: consumer.url(), retrySchedule: schedule, disabledReason: disabled, pausedUntil: pausedUntil,
            created: 1, secrets: [.generate()], isSendable: true)
    }

    private func delivery(_ number: UInt8, to endpoint: String, lane: Int16 = 1) -> DueDelivery {
        let event = [UInt8](repeating: number, count: 16)
        return DueDelivery(
            id: DeliveryID(lane: Lane(number: lane), event: event, endpoint: endpoint), endpoint: endpoint,
            event: event, eventType: "TEST", attempts: 0, roundStart: 0, body: [number])
    }

    @Test func `a consumer that hangs delays no other`() throws {
        let (slow, quick) = (try Consumer { _, _ in .hold }, try Consumer())
        defer { slow.stop(); quick.stop() }
        let sender = try Sender()
        sender.update([endpoint("slow", slow), endpoint("quick", quick)])
        sender.engine.add((0..<100).map { delivery($0, to: "slow") })
        sender.engine.add((0..<100).map { delivery($0, to: "quick") })
        let results = try sender.results(100)
        #expect(results.allSatisfy { $0.delivery.endpoint == "quick" })
        #expect(slow.requests.count <= 8)
    }

    @Test func `a consumer that never answered gets one request at a time`() throws {
        let consumer = try Consumer { _, before in before < 1 ? .hold : .status(200) }
        defer { consumer.stop() }
        let sender = try Sender()
        sender.engine.update([endpoint("a", consumer)], now: 0)
        sender.engine.add((0..<20).map { delivery($0, to: "a") })
        _ = try consumer.wait(1)
        #expect(sender.engine.inFlight == 1)
        consumer.release(200)
        #expect(try sender.results(20).count == 20)
    }

    @Test func `what is known is not sent twice until its result is written down`() throws {
        let consumer = try Consumer()
        defer { consumer.stop() }
        let sender = try Sender()
        sender.update([endpoint("a", consumer)])
        for _ in 0..<5 { sender.engine.add([delivery(1, to: "a")]) }
        let results = try sender.results(1)
        sender.engine.add([delivery(1, to: "a")])
        #expect(consumer.requests.count == 1)
        sender.engine.forget(results.map(\.delivery.id))
        sender.engine.add([delivery(1, to: "a")])
        _ = try sender.results(1)
        #expect(consumer.requests.count == 2)
    }

    @Test func `nothing is sent to who is disabled, paused or unknown`() throws {
        let consumer = try Consumer()
        defer { consumer.stop() }
        let sender = try Sender()
        let later = SystemClock().now() + 60_000
        sender.update([
            endpoint("disabled", consumer, disabled: "x"), endpoint("paused", consumer, pausedUntil: later),
            endpoint("open", consumer),
        ])
        for id in ["disabled", "paused", "unknown", "open"] { sender.engine.add([delivery(1, to: id)]) }
        #expect(try sender.results(1).map(\.delivery.endpoint) == ["open"])
        #expect(consumer.requests.count == 1)
        #expect(Set(sender.engine.room().keys) == ["open"])
        sender.update([endpoint("paused", consumer, pausedUntil: later)], now: later)
        #expect(Set(sender.engine.room().keys) == ["paused"])
    }

    @Test func `the schedule of an endpoint counts as it is when the attempt ends`() throws {
        let consumer = try Consumer { _, _ in .hold }
        defer { consumer.stop() }
        let sender = try Sender()
        let (before, after) = (RetrySchedule(waits: [1000]), RetrySchedule(waits: [5, 6]))
        sender.update([endpoint("a", consumer, schedule: before)])
        sender.engine.add([delivery(1, to: "a")])
        _ = try consumer.wait(1)
        sender.update([endpoint("a", consumer, schedule: after)])
        consumer.release(500)
        #expect(try sender.results(1).map(\.schedule) == [after])
    }

    @Test func `what waits in a lost lane is forgotten`() throws {
        let consumer = try Consumer { _, before in before < 8 ? .hold : .status(200) }
        defer { consumer.stop() }
        let sender = try Sender()
        sender.update([endpoint("a", consumer)])
        sender.engine.add((0..<20).map { delivery($0, to: "a", lane: $0 < 8 ? 1 : $0 < 14 ? 2 : 3) })
        _ = try consumer.wait(8)
        sender.engine.drop([Lane(number: 2)])
        consumer.release(200)
        let lanes = try sender.results(14).map(\.delivery.id.lane.number)
        #expect(lanes.filter { $0 == 1 }.count == 8)
        #expect(lanes.filter { $0 == 3 }.count == 6)
        #expect(sender.engine.inFlight == 0)
    }

    @Test func `cutting ends what is in flight as interrupted`() throws {
        let consumer = try Consumer { _, _ in .hold }
        defer { consumer.stop() }
        let sender = try Sender()
        sender.update([endpoint("a", consumer)])
        sender.engine.add((0..<20).map { delivery($0, to: "a") })
        _ = try consumer.wait(8)
        sender.engine.close()
        #expect(sender.engine.inFlight == 8)
        sender.engine.cut()
        let results = try sender.results(8)
        #expect(results.count == 8)
        for result in results {
            guard case .failure(let failure) = result.outcome else {
                Issue.record("an answer came from a consumer that holds")
                continue
            }
            #expect(failure.kind == .interrupted)
        }
        sender.engine.add([delivery(99, to: "a")])
        #expect(sender.engine.inFlight == 0)
    }
}
