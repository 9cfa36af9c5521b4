import Base
import Testing

@Suite struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"

    @Test func `a valid header is read, and written as it was`() throws {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.trace.text == Self.trace && context.span.text == Self.span && context.isSampled)
        #expect(context.traceparent == text)
        #expect(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00")?.isSampled == false)
        #expect(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-fe")?.isSampled == false)
    }

    @Test func `a later version may have more behind the flags`() {
        #expect(TraceContext(traceparent: "cc-\(Self.trace)-\(Self.span)-01-what-comes") != nil)
        #expect(TraceContext(traceparent: "cc-\(Self.trace)-\(Self.span)-01") != nil)
        #expect(TraceContext(traceparent: "cc-\(Self.trace)-\(Self.span)-01.more") == nil)
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-",
        "00-\(trace)-\(span)-01-x", "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "00-\(trace)0-\(span)-01",
        "00-\(trace.dropLast())-\(span)-01", "00-00000000000000000000000000000000-\(span)-01",
        "00-\(trace)-0000000000000000-01", "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0X",
        " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01 ", "00_\(trace)_\(span)_01", "00-\(trace)-\(span)-é1",
    ])
    func `anything else counts as missing`(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test func `ids are never zero, and a span that follows from its subject is another for another subject`() {
        #expect(TraceID([UInt8](repeating: 0, count: 16)) == nil && TraceID([1, 2]) == nil && SpanID(0) == nil)
        #expect(TraceID.random() != TraceID.random() && SpanID.random() != SpanID.random())
        #expect(SpanID(of: "apply", [1, 2]) == SpanID(of: "apply", [1, 2]))
        #expect(SpanID(of: "apply", [1, 2]) != SpanID(of: "ingest", [1, 2]))
        #expect(SpanID(of: "apply", [1, 2]) != SpanID(of: "apply", [1, 3]))
        #expect(SpanID(of: "a", []).text.count == 16)
    }
}
