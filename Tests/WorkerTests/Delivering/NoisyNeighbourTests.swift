import Base
import Daemon
import Database
import HTTP
import TestSupport
import Testing
import Worker

/// Consumers that hang, beside others, over real sockets.
@Suite struct NoisyNeighbourTests {
    private func endpoint(_ id: String, _ url: String) -> Endpoint {
        Endpoint(id: id, url: url, created: 1, secrets: [.generate()], isSendable: true)
    }

    private func deliveries(_ count: Int, to endpoint: String) -> [DueDelivery] {
        (0..<count).map { number in
            let event = [UInt8](repeating: 0, count: 12) + (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            return DueDelivery(
                id: DeliveryID(lane: Lane(number: 1), event: event, endpoint: endpoint), endpoint: endpoint,
                event: event, eventType: "TEST", attempts: 0, roundStart: 0, body: [1])
        }
    }

    /// Every fifth of fifty hosts hangs; each would like more places than its part of all there are. They hang from the
    /// first request on, or had been well before.
    @Test(arguments: [5, 10], [true, false])
    func `while dead hosts hang, everything for the healthy ones goes through`(dead: Int, wereWell: Bool) throws {
        let consumer = try Consumer { request, _ in request.path.hasPrefix("/dead") ? .hold : .status(200) }
        defer { consumer.stop() }
        let networks = ["127.0.0.0/8"].compactMap { Network(parsing: $0) }
        let client = try HTTPClient(
            configuration: HTTPClientConfiguration(allowedNetworks: networks), logger: .silent, metrics: Metrics())
        client.start()
        let engine = DeliveryEngine(
            client: client, limits: SendLimits(perEndpoint: 8, total: 32), timeout: .seconds(120),
            clock: SystemClock(), metrics: Metrics(), onResult: {})
        defer { engine.close(); engine.cut() }
        let healthy = 50 - dead
        let ids = (0..<dead).map { "dead\($0)" } + (0..<healthy).map { "ok\($0)" }
        engine.update(
            ids.map { endpoint($0, consumer.url("/\($0)")) },
            failures: wereWell ? Dictionary(uniqueKeysWithValues: ids.map { ($0, 0) }) : [:], now: SystemClock().now())
        for id in ids { engine.add(deliveries(30, to: id)) }
        var arrived: [AttemptResult] = []
        try eventually("all of the healthy ones got theirs") {
            arrived += engine.takeResults(atMost: 500)
            return arrived.count >= healthy * 30
        }
        #expect(arrived.allSatisfy { $0.delivery.endpoint.hasPrefix("ok") })
        let hanging = consumer.requests.filter { $0.path.hasPrefix("/dead") }
        #expect(hanging.count >= dead && engine.inFlight == hanging.count && hanging.count < 32)
    }
}
