import Base
import Database
import Testing
import Worker

@testable import HTTP

@Suite struct RetryPolicyTests {
    private let hour: Int64 = 3_600_000
    private let policy = DeliveryRetryPolicy(schedule: [1, 12, 24, 48, 72].map { .seconds($0 * 3600) })
    /// Sat, 21 Nov 2026 14:00:00 GMT.
    private let now: Int64 = 1_795_269_600_000

    private func response(_ status: Int, retryAfter: String? = nil, delivery: String? = nil) -> TransferOutcome {
        .response(
            OutgoingResponse(
                status: status, retryAfter: retryAfter, delivery: delivery, body: [], truncated: false, milliseconds: 5,
                reusedConnection: false))
    }

    private func failure(_ kind: TransferFailure.Kind) -> TransferOutcome {
        .failure(TransferFailure(kind: kind, message: "why", milliseconds: 5, status: nil))
    }

    private func decide(
        _ outcome: TransferOutcome, round: Int = 1, jitter: Double = 0
    ) -> DeliveryRetryPolicy.Decision {
        policy.decide(outcome, round: round, now: now, jitter: jitter)
    }

    @Test func `six attempts in 157 hours, then a dead letter`() {
        let waits: [Int64] = [1, 12, 24, 48, 72]
        for (index, wait) in waits.enumerated() {
            let decision = decide(response(500), round: index + 1)
            #expect(decision.state == .pending && decision.counts)
            #expect(decision.wait == wait * hour)
        }
        let last = decide(response(500), round: 6)
        #expect(last.state == .dead && last.counts)
        #expect(last.reason?.contains("status 500") == true)
        #expect(waits.reduce(0, +) == 157)
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func `jitter only adds, at most two in a hundred`(round: Int) {
        let plain = decide(response(500), round: round).wait
        for jitter in [0.0, 0.01, 0.5, 0.99, 1, 7, -3] {
            let wait = decide(response(500), round: round, jitter: jitter).wait
            #expect(wait >= plain && wait <= plain + plain / 50)
        }
        #expect(decide(response(500), round: round, jitter: 1).wait == plain + plain / 50)
    }

    @Test(arguments: [200, 201, 202, 204, 206, 299])
    func `every 2xx is success`(status: Int) {
        #expect(decide(response(status)).state == .delivered)
        #expect(decide(response(status), round: 6).state == .delivered)
    }

    @Test(arguments: [301, 302, 304, 307, 308, 400, 401, 404, 429, 500, 502, 503, 504, 599])
    func `every other status but 410 is tried again`(status: Int) {
        let decision = decide(response(status))
        #expect(decision.state == .pending && decision.counts && decision.wait == hour && decision.disables == nil)
        #expect(decision.outcome == "status_\(status)")
    }

    @Test(arguments: [1, 6])
    func `410 disables the endpoint and holds the delivery`(round: Int) {
        let decision = decide(response(410, retryAfter: "5"), round: round)
        #expect(decision.state == .held && decision.disables == .gone && decision.pauses == nil)
    }

    struct RetryAfter: Sendable {
        let text: String
        /// Milliseconds; nil: not understood.
        let asks: Int64?
    }

    private static let headers = [
        RetryAfter(text: "7200", asks: 7_200_000), RetryAfter(text: "0", asks: 0), RetryAfter(text: "-5", asks: 0),
        RetryAfter(text: "86400", asks: 86_400_000), RetryAfter(text: "86401", asks: 86_400_000),
        RetryAfter(text: "99999999999999999999999", asks: 86_400_000), RetryAfter(text: "1e300", asks: 86_400_000),
        RetryAfter(text: "Sat, 21 Nov 2026 17:00:00 GMT", asks: 10_800_000),
        RetryAfter(text: "Saturday, 21-Nov-26 17:00:00 GMT", asks: 10_800_000),
        RetryAfter(text: "Sat Nov 21 17:00:00 2026", asks: 10_800_000),
        RetryAfter(text: "Sat, 21 Nov 2026 13:00:00 GMT", asks: 0),
        RetryAfter(text: "Fri, 21 Nov 2036 13:00:00 GMT", asks: 86_400_000),
        RetryAfter(text: "soon", asks: nil), RetryAfter(text: "", asks: nil), RetryAfter(text: "nan", asks: nil),
        RetryAfter(text: "inf", asks: nil), RetryAfter(text: "2026-11-21T17:00:00Z", asks: nil),
    ]

    @Test(arguments: headers)
    func `Retry-After postpones 429 and 503 and never makes them earlier`(header: RetryAfter) {
        for status in [429, 503] {
            let decision = decide(response(status, retryAfter: header.text))
            #expect(decision.wait == max(hour, header.asks ?? 0))
            #expect(decision.pauses == (status == 429 && header.asks != 0 ? header.asks : nil))
        }
        #expect(decide(response(503, retryAfter: header.text), round: 2).wait >= 12 * hour)
    }

    @Test(arguments: [200, 302, 404, 500, 502])
    func `Retry-After of other answers means nothing`(status: Int) {
        let decision = decide(response(status, retryAfter: "7200"))
        #expect(decision.wait == (status == 200 ? 0 : hour))
        #expect(decision.pauses == nil)
    }

    @Test(arguments: TransferFailure.Kind.allCases)
    func `a failed transfer counts, unless the fault is ours`(kind: TransferFailure.Kind) {
        for round in 1...6 {
            let decision = decide(failure(kind), round: round)
            switch kind {
            case .interrupted:
                #expect(decision.state == .pending && !decision.counts && decision.wait == 0)
                #expect(decision.outcome == "interrupted")
            case .infrastructure:
                #expect(
                    decision.state == .pending && !decision.counts && decision.wait == 1000 && decision.isOurFault)
            default:
                #expect(decision.counts && decision.state == (round == 6 ? .dead : .pending))
            }
        }
    }

    @Test func `without waits there is one attempt`() {
        let once = DeliveryRetryPolicy(schedule: [])
        #expect(once.decide(response(500), round: 1, now: now, jitter: 1).state == .dead)
        #expect(once.decide(response(200), round: 1, now: now, jitter: 1).state == .delivered)
    }

    @Test(arguments: [0, -1, .min, 7, .max])
    func `a round that cannot be ends instead of trapping`(round: Int) {
        #expect(decide(response(500), round: round).state == .dead)
    }

    @Test func `the longest wait that can be configured does not overflow`() {
        let long = DeliveryRetryPolicy(schedule: [.seconds(30 * 86400)])
        let decision = long.decide(response(500), round: 1, now: .max, jitter: 1)
        #expect(decision.wait == 2_592_000_000 + 51_840_000)
    }

    // MARK: - What a consumer asks for

    @Test(arguments: ["abort", "abort-message", "ABORT", "  Abort-Message\t"])
    func `a consumer can ask to give an event up, with any failure but not with a success`(header: String) {
        for status in [301, 400, 404, 422, 429, 500, 503] {
            let decision = decide(response(status, delivery: header))
            #expect(decision.state == .dead && decision.counts && decision.disables == nil)
            #expect(decision.reason == "the consumer asked to give it up: status \(status)")
        }
        #expect(decide(response(200, delivery: header)).state == .delivered)
        #expect(decide(response(204, delivery: "disable")).disables == nil)
        #expect(decide(response(410, delivery: header)).disables == .gone)
    }

    @Test func `a consumer can ask to be disabled by a header`() {
        let decision = decide(response(403, delivery: " disable "), round: 6)
        #expect(decision.state == .held && decision.disables == .asked && decision.counts)
    }

    @Test(arguments: ["", "abor", "abort message", "disabled", "yes"])
    func `other values of the header mean nothing`(header: String) {
        #expect(decide(response(500, delivery: header)) == decide(response(500)))
    }

    @Test func `who cannot be disabled by an answer is tried again`() {
        for outcome in [response(410), response(500, delivery: "disable")] {
            let decision = policy.decide(outcome, round: 1, mayDisable: false, now: now, jitter: 0)
            #expect(decision.state == .pending && decision.disables == nil && decision.wait == hour)
        }
    }

    // MARK: - Faults of our own

    @Test func `faults of our own wait longer each time, up to a minute, and cost no attempt`() {
        let waits = (0...9).map { faults in
            policy.decide(failure(.infrastructure), round: 3, faults: faults, now: now, jitter: 1)
        }
        #expect(waits.map(\.wait) == [1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000, 60000])
        #expect(waits.allSatisfy { !$0.counts && $0.state == .pending })
        for faults in [Int.min, -1, .max] {
            let wait = policy.decide(failure(.infrastructure), round: 1, faults: faults, now: now, jitter: 0).wait
            #expect((1000...60_000).contains(wait))
        }
    }

    // MARK: - Properties

    @Test func `no wait is shorter than planned or more than two in a hundred longer, whatever is drawn`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            let planned = Int64.random(in: 100...2_592_000_000, using: &random)
            let once = DeliveryRetryPolicy(schedule: [.milliseconds(planned)])
            let wait = once.decide(
                response(500), round: 1, now: now, jitter: .random(in: -2...3, using: &random)
            ).wait
            #expect(wait >= planned && wait <= planned + planned / 50)
        }
    }

    @Test func `no Retry-After that can be sent traps, ends early, takes over a day, or changes what is counted`() {
        var random = SystemRandomNumberGenerator()
        let pieces = [
            "Sun", "Sunday", ",", " ", "06", "Nov", "-", "94", "1994", "08:49:37", "GMT", "9", "99999999999", "-", ".",
            "e308", "0x", "nan", "inf", "\u{0}", "é", "+", "2026", ":", "120",
        ]
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...9, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let at = [Int64.min, -1, 0, now, .max].randomElement(using: &random) ?? 0
            let wait = policy.retryAfter(text, now: at)
            #expect(wait.map { (0...86_400_000).contains($0) } ?? true, "\(text.debugDescription)")
            let decision = policy.decide(
                response(503, retryAfter: text), round: 1, now: at, jitter: .random(in: 0...1, using: &random))
            #expect(decision.wait >= hour && decision.wait <= 86_400_000 && decision.counts)
            #expect(decision.state == .pending)
        }
    }
}
