import Database
import Testing

@testable import Base
@testable import HTTP
@testable import Worker

@Suite struct AttemptLogTests {
    private func result(_ outcome: TransferOutcome) -> AttemptResult {
        let event = [UInt8](repeating: 1, count: 16)
        let delivery = DueDelivery(
            id: DeliveryID(lane: Lane(number: 1), event: event, endpoint: "a"), endpoint: "a", event: event,
            eventType: "TEST", attempts: 2, roundStart: 0, body: [])
        return AttemptResult(delivery: delivery, started: 5, outcome: outcome)
    }

    private var trace: TransferTrace {
        var trace = TransferTrace()
        trace.timings = TransferTimings(lookup: 1, connect: 2, handshake: 3, firstByte: 4)
        trace.peer = .v6(high: 0x2606_4700_0000_0000, low: 1)
        trace.reusedConnection = true
        trace.version = 20
        for line in ["HTTP/2 500 \r\n", "Set-Cookie: a=b\r\n", "\r\n"] {
            Array(line.utf8).withUnsafeBytes { trace.head.take($0) }
        }
        return trace
    }

    private func response(_ status: Int) -> TransferOutcome {
        .response(
            OutgoingResponse(
                status: status, retryAfter: nil, delivery: nil, body: [7], truncated: true, milliseconds: 12,
                reusedConnection: true, trace: trace))
    }

    @Test func `an answer is written down with all that is known of it`() {
        let record = AttemptLog().record(result(response(500)), detail: "status 500")
        #expect(record.number == 3 && record.started == 5 && record.milliseconds == 12)
        #expect(record.outcome == "status_5xx" && record.detail == "status 500" && record.status == 500)
        #expect(record.timings == .init(lookup: 1, connect: 2, handshake: 3, firstByte: 4))
        #expect(record.peer == "2606:4700::1" && record.reused && record.version == 20)
        #expect(record.response == [7] && record.truncated)
        #expect(record.head == Array("HTTP/2 500\nSet-Cookie: [left out]".utf8))
    }

    @Test func `a success is written down without its head`() {
        let record = AttemptLog().record(result(response(204)), detail: nil)
        #expect(record.outcome == "delivered" && record.head.isEmpty && record.peer != nil)
    }

    @Test func `nothing of an answer is kept where that is not wanted`() {
        let record = AttemptLog(keepsResponses: false).record(result(response(500)), detail: nil)
        #expect(record.response.isEmpty && record.head.isEmpty && !record.truncated)
        #expect(record.status == 500 && record.timings.firstByte == 4)
    }

    @Test func `a host that does not exist is written down as one whose addresses are refused is`() {
        var records: [DeliveryTable.AttemptRecord] = []
        for (kind, message, time) in [
            (.dnsNotFound, "inner.example does not exist", 900),
            (.refusedAddress, "inner.example: 10.0.0.7 is private", 3),
        ] as [(TransferFailure.Kind, String, Int64)] {
            let failure = TransferFailure(kind: kind, message: message, milliseconds: time, trace: trace)
            let policy = DeliveryRetryPolicy(schedule: [.seconds(1)])
            let result = result(.failure(failure))
            let decision = policy.decide(result.outcome, round: 1, now: 0, jitter: 0)
            records.append(AttemptLog().record(result, detail: decision.reason))
            #expect(decision.reason == "the host of a has no address that webhooks may be sent to")
            #expect(AttemptOutcome(result.cause).code == kind.rawValue)
        }
        #expect("\(records[0])" == "\(records[1])")
        #expect(records[0].outcome == "refused_address" && records[0].milliseconds == 0)
        #expect(records[0].timings == .init() && records[0].peer == nil)
    }

    @Test func `a failure is written down as far as it went`() {
        let failure = TransferFailure(
            kind: .timeout, message: "late", milliseconds: 30, status: 200, body: [8], trace: trace)
        let record = AttemptLog().record(result(.failure(failure)), detail: "late")
        #expect(record.outcome == "timeout" && record.status == 200 && record.response == [8])
        #expect(!record.head.isEmpty && record.timings.connect == 2)
    }

    @Test(arguments: [
        (200, "delivered"), (299, "delivered"), (302, "status_3xx"), (410, "gone"), (404, "status_4xx"),
        (503, "status_5xx"), (101, "status_other"), (999, "status_other"),
    ])
    func `every status has its outcome`(status: Int, outcome: String) {
        #expect(AttemptOutcome(response(status)).code == outcome)
    }

    @Test(arguments: TransferFailure.Kind.allCases)
    func `every failure has an outcome of its own`(kind: TransferFailure.Kind) {
        let outcome = AttemptOutcome(.failure(TransferFailure(kind: kind, message: "", milliseconds: 0)))
        #expect(outcome.code == kind.rawValue)
    }
}
