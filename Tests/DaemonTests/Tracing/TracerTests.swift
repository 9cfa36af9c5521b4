import Base
import Daemon
import TestSupport
import Testing

@Suite struct TracerTests {
    private func span(_ trace: TraceID = .random()) -> Span { Span("work", .internal, trace: trace, start: Span.now()) }

    @Test func `every process with the same share records the same traces`() {
        let (one, other) = (Tracer(sample: 0.1, metrics: nil), Tracer(sample: 0.1, metrics: nil))
        let traces = (0..<20_000).map { _ in TraceID.random() }
        let recorded = traces.filter(one.records)
        #expect(recorded == traces.filter(other.records))
        #expect((1700...2300).contains(recorded.count))
        // A process that records more records these, too.
        let more = Tracer(sample: 0.3, metrics: nil)
        #expect(recorded.allSatisfy(more.records))
        let all = Tracer(sample: 1, metrics: nil)
        #expect(traces.allSatisfy(all.records))
        #expect(!traces.contains(where: Tracer.off.records) && !Tracer.off.isOn)
    }

    @Test func `what does not fit is dropped and counted, and what is older goes first`() {
        let metrics = Metrics()
        let tracer = Tracer(sample: 1, limit: 3, metrics: metrics)
        for outcome in ["exported", "dropped", "failed"] {
            #expect(metrics.exposition().contains("entitled_spans_total{outcome=\"\(outcome)\"} 0\n"))
        }
        let spans = (0..<5).map { _ in span() }
        tracer.record(spans[0])
        tracer.record(Array(spans[1...]))
        #expect(metrics.exposition().contains("entitled_spans_total{outcome=\"dropped\"} 2\n"))
        #expect(tracer.take(atMost: 2).map(\.id) == spans[0..<2].map(\.id))
        tracer.record(spans[3])
        #expect(tracer.take(atMost: 10).map(\.id) == [spans[2].id, spans[3].id])
        #expect(metrics.exposition().contains("entitled_spans_total{outcome=\"dropped\"} 2\n"))
    }

    @Test func `the document has the names of the protocol`() throws {
        let trace = TraceID.random()
        let parent = SpanID.random()
        let span = Span(
            "POST", .client, trace: trace, parent: parent, start: 1_790_000_000_123_456_789,
            end: 1_790_000_000_223_456_789,
            attributes: ["http.request.method": .text("POST"), "server.port": .number(443), "missing": nil],
            hasFailed: true)
        let document = OTLPDocument.request([span, self.span()], resource: [("service.name", "entitled-worker")])
        #expect(OTLPReceiver.mistakes(in: document) == [])
        let spans = OTLPReceiver.spans(in: document)
        #expect(spans.count == 2)
        #expect(spans[0].trace == trace.text && spans[0].parent == parent.text && spans[0].kind == 3)
        #expect(spans[0].attributes == ["http.request.method": "POST", "server.port": "443"])
        #expect(spans[0].start == "1790000000123456789" && spans[0].hasFailed && !spans[1].hasFailed)
        #expect(spans[0].service == "entitled-worker" && spans[1].parent == nil)
    }

    @Test(arguments: [
        ("{}", 0), ("", 0), ("nonsense", 0), (#"{"partialSuccess":{"rejectedSpans":"7"}}"#, 7),
        (#"{"partialSuccess":{"rejectedSpans":7,"errorMessage":"x"}}"#, 7), (#"{"partialSuccess":null}"#, 0),
    ])
    func `what a receiver did not take is read`(text: String, count: Int) {
        #expect(OTLPDocument.rejected(in: Array(text.utf8)) == count)
    }
}
