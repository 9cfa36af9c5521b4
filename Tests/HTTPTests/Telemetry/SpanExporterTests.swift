import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// What a receiver of traces gets, and that none is in the way.
@Suite struct SpanExporterTests {
    private struct Bench {
        let metrics = Metrics()
        let log = LogTape()
        let tracer: Tracer
        let exporter: SpanExporter

        init(_ url: String, limit: Int = Tracer.limit) throws {
            tracer = Tracer(sample: 1, limit: limit, metrics: metrics)
            exporter = try SpanExporter(
                url: url, headers: [("authorization", "Bearer secret")], resource: [("service.name", "test")],
                tracer: tracer, logger: log.logger, metrics: metrics)
        }

        func record(_ count: Int) {
            for _ in 0..<count { tracer.record(Span("work", .internal, trace: .random(), start: Span.now())) }
        }

        func counted(_ outcome: String, _ count: Int) -> Bool {
            metrics.exposition().contains("entitled_spans_total{outcome=\"\(outcome)\"} \(count)\n")
        }

        /// Ends it; how long that took.
        func end() -> Duration {
            let begun = ContinuousClock.now
            exporter.drain(until: begun + .seconds(20))
            return .now - begun
        }
    }

    @Test func `spans arrive in batches by the protocol, with the headers, and the last ones at the end`() throws {
        let receiver = try OTLPReceiver()
        defer { receiver.stop() }
        let bench = try Bench(receiver.url)
        bench.record(1200)
        bench.exporter.start()
        try eventually("all have arrived") { receiver.spans.count == 1200 }
        #expect(receiver.requests.count == 3 && receiver.mistakes == [])
        #expect(receiver.requests.allSatisfy { $0.headers["authorization"] == "Bearer secret" })
        bench.record(3)
        #expect(bench.end() < .seconds(1))
        #expect(receiver.spans.count == 1203 && Set(receiver.spans.map(\.id)).count == 1203)
        #expect(bench.counted("exported", 1203) && bench.counted("failed", 0) && bench.counted("dropped", 0))
        #expect(bench.log.text.isEmpty, "\(bench.log.text)")
    }

    @Test func `a receiver that hangs holds nothing up, neither those who record nor the end`() throws {
        let receiver = try OTLPReceiver { _ in .hold }
        defer { receiver.stop() }
        let bench = try Bench(receiver.url, limit: 1000)
        bench.exporter.start()
        bench.record(10)
        try eventually("it has begun to send") { receiver.requests.count == 1 }
        let begun = ContinuousClock.now
        bench.record(5000)
        #expect(.now - begun < .seconds(1))
        // Of the ten all but the first may wait still.
        #expect((4000...4009).contains { bench.counted("dropped", $0) })
        #expect(bench.tracer.count == 1000)
        #expect(bench.end() < .seconds(1))
    }

    @Test func `a receiver that fails is told of once in half a minute, and gets the same spans again`() throws {
        let receiver = try OTLPReceiver { $0 < 1 ? .status(503) : $0 < 2 ? .status(200) : .status(500) }
        defer { receiver.stop() }
        let bench = try Bench(receiver.url)
        // Before the start, so that they are one request.
        bench.record(2)
        bench.exporter.start()
        try eventually("they were sent again") { bench.counted("exported", 2) }
        #expect(receiver.requests.count == 2 && receiver.requests[0].body == receiver.requests[1].body)
        // 500 is no reason to send again.
        bench.record(3)
        try eventually("they were given up") { bench.counted("failed", 3) }
        bench.record(4)
        try eventually("these, too") { bench.counted("failed", 7) }
        #expect(bench.log.text.split(separator: "\n").filter { $0.contains("spans not exported") }.count == 1)
        #expect(bench.log.text.contains("\"count\":2,\"error\":\"status 503\""))
        #expect(bench.end() < .seconds(1))
    }

    @Test func `a receiver that is away costs nothing but its spans`() throws {
        // A port that was free a moment ago.
        let gone = try OTLPReceiver()
        let url = gone.url
        gone.stop()
        let bench = try Bench(url)
        bench.exporter.start()
        bench.record(5)
        try bench.log.wait(for: "spans not exported")
        #expect(bench.end() < .seconds(1))
        #expect(bench.counted("failed", 5) && bench.counted("exported", 0))
        #expect(!bench.log.text.contains("secret"))
    }
}
