import Base
import Postgres
import TestSupport
import Testing

@testable import Database

/// Which notification an event came of: kept behind its body.
@Suite struct EventCauseTests {
    private static let cause = [UInt8](1...16)

    @Test func `the cause stands behind the body, and reading the body passes over it`() throws {
        let body = Array(#"{"event":{"type":"RENEWAL"},"api_version":"1.0"}"#.utf8)
        let plain = try EventBodyCodec.compress(body)
        let stored = try EventBodyCodec.compress(body, cause: Self.cause)
        #expect(stored.count == plain.count + 24 && stored.starts(with: plain))
        #expect(EventBodyCodec.cause(of: stored) == Self.cause && EventBodyCodec.cause(of: plain) == nil)
        #expect(EventBodyCodec.cause(of: []) == nil && EventBodyCodec.cause(of: Array(stored.suffix(24))) == nil)
        #expect(try EventBodyCodec.restore(stored) == body)
        // As a program before it does.
        #expect(try Zstd.decompress(stored, dictionary: EventBodyCodec.dictionary.get(), limit: 1 << 20) == body)
    }

    @Test func `a delivery is in the trace of its notification at once, when it is read again, and as a copy`() throws {
        let bench = try Bench()
        let endpoint = try bench.addEndpoint()
        var event = Bench.event(1)
        event.cause = Self.cause
        let trace = TraceID(Self.cause)
        #expect(try bench.insert([event]).map(\.trace) == [trace])
        let due = try #require(try bench.due([endpoint: 10]).first)
        #expect(due.trace == trace && due.body == event.body)
        #expect(due.attemptSpan(at: 1) != due.attemptSpan(at: 2))
    }

    @Test func `what no notification made is in a trace of its own`() throws {
        let bench = try Bench()
        let endpoint = try bench.addEndpoint()
        try bench.insert([Bench.event(7)])
        let due = try #require(try bench.due([endpoint: 10]).first)
        #expect(due.trace == TraceID([UInt8](repeating: 7, count: 16)) && due.parentSpan == nil)
    }
}
