import Base
import Testing

@testable import AppStoreAPI

/// A virtual clock: the bucket is told the time.
struct TokenBucketTests {
    /// When each of `count` takers gets a token who asks again at the very time he is told.
    private func times(_ bucket: inout TokenBucket, _ count: Int, from start: Int64 = 0) -> [Int64] {
        var now = start
        return (0..<count).map { _ in
            while let later = bucket.take(at: now) { now = later }
            return now
        }
    }

    @Test(arguments: [
        (rate: 2.0, burst: 3.0, times: [0, 0, 0, 500, 1000, 1500]),
        (rate: 40, burst: 1, times: [0, 25, 50, 75]),
        (rate: 0.08, burst: 2, times: [0, 0, 12500, 25000]),
    ])
    func `a burst goes at once, then the rate rules`(rate: Double, burst: Double, times wanted: [Int64]) {
        var bucket = TokenBucket(rate: rate, burst: burst, now: 0)
        #expect(times(&bucket, wanted.count) == wanted)
    }

    @Test func `an hour never holds more than the rate and one burst`() {
        var bucket = TokenBucket(rate: 4, burst: 10, now: 0)
        let within = times(&bucket, 20_000).prefix { $0 < 3_600_000 }
        #expect((14_400...14_410).contains(within.count))
    }

    @Test func `nothing goes while it is closed, and no burst afterwards`() {
        var bucket = TokenBucket(rate: 1, burst: 5, now: 0)
        bucket.close(until: 10_000, now: 0)
        #expect(bucket.take(at: 0) == 10_000)
        #expect(bucket.take(at: 9999) == 10_000)
        #expect(times(&bucket, 3, from: 10_000) == [10_000, 11_000, 12_000])
        // A shorter wait opens nothing.
        bucket.close(until: 20_000, now: 12_000)
        bucket.close(until: 15_000, now: 12_000)
        #expect(bucket.take(at: 16_000) == 20_000)
    }

    @Test func `another rate counts at once, and brings no burst`() {
        var bucket = TokenBucket(rate: 10, burst: 10, now: 0)
        #expect(times(&bucket, 5) == [0, 0, 0, 0, 0])
        bucket.change(rate: 1, burst: 2, now: 0)
        #expect(times(&bucket, 4) == [0, 0, 1000, 2000])
        bucket.change(rate: 10, burst: 10, now: 2000)
        #expect(times(&bucket, 3, from: 2000) == [2100, 2200, 2300])
        bucket.close(until: 9000, now: 2300)
        bucket.change(rate: 100, burst: 100, now: 2300)
        #expect(bucket.take(at: 3000) == 9000)
    }

    @Test func `a clock that goes back gives nothing and breaks nothing`() {
        var bucket = TokenBucket(rate: 1, burst: 1, now: 5000)
        #expect(bucket.take(at: 5000) == nil)
        #expect(bucket.take(at: 0) == 1000)
    }
}

struct RateLimitQueueTests {
    private static func line(burst: Double) -> RateLimitQueue {
        RateLimitQueue(TokenBucket(rate: 1, burst: burst, now: 0))
    }

    @Test func `an interactive call goes before sweeps that came earlier`() {
        var line = RateLimitQueueTests.line(burst: 1)
        let sweeps = [line.join(.background), line.join(.background)]
        let person = line.join(.interactive)
        let another = line.join(.interactive)
        #expect(line.ask(sweeps[0], at: 0) == .queue)
        #expect(line.ask(person, at: 0) == .go)
        #expect(line.ask(another, at: 0) == .wait(until: 1000))
        #expect(line.ask(sweeps[0], at: 1000) == .queue)
        #expect(line.ask(another, at: 1000) == .go)
        #expect(line.ask(sweeps[1], at: 2000) == .queue)
        #expect(line.ask(sweeps[0], at: 2000) == .go)
        #expect(line.ask(sweeps[1], at: 3000) == .go)
    }

    @Test func `who leaves holds up nobody`() {
        var line = RateLimitQueueTests.line(burst: 5)
        let (first, second) = (line.join(.interactive), line.join(.interactive))
        #expect(line.ask(second, at: 0) == .queue)
        line.leave(first)
        #expect(line.isFirst(second))
        #expect(line.ask(second, at: 0) == .go)
    }

    @Test func `every group stays below what Apple publishes, in the sandbox a tenth`() {
        for group in EndpointGroup.allCases {
            #expect(group.rate(in: .production) < group.published)
            #expect(group.rate(in: .sandbox) < group.published / 10)
            // The burst fits into what an hour leaves over.
            #expect(group.rate(in: .sandbox) * 3600 + 10 < group.published / 10 * 3600)
        }
    }

    /// Long work beside other processes: what it leaves is enough for as much again, in every hour.
    @Test func `half of what Apple publishes stays for other processes`() {
        let importing = RateShare.imports(count: 1, accountsWait: false)
        for group in EndpointGroup.allCases {
            for environment in [StoreEnvironment.production, .sandbox] {
                let published = group.published * (environment == .production ? 1 : 0.1)
                #expect(group.rate(in: environment, importing) == published / 2)
                var bucket = RateLimiter.bucket(group, environment, importing, now: 0)
                var sent = 0.0
                var now: Int64 = 0
                while now < 3_600_000 {
                    if let later = bucket.take(at: now) { now = later } else { sent += 1 }
                }
                #expect(sent <= published / 2 * 3600 + max(10, published / 2), "\(group) \(environment)")
            }
        }
    }

    @Test(arguments: 0...5) func `what asks at once stays within what Apple allows`(imports: Int) {
        let beside = Double(imports) * RateShare.imports(count: imports, accountsWait: true).part
        let alone = Double(imports) * RateShare.imports(count: imports, accountsWait: false).part
        #expect(RateShare.process.part + beside <= 1.000_001)
        #expect(RateShare.accounts.part + alone <= 1.000_001)
        #expect(RateShare.accounts.part < RateShare.process.part)
        #expect(imports == 0 || beside > 0.19 && alone > 0.49)
    }
}
