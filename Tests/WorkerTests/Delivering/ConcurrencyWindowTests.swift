import Testing
import Worker

@Suite struct ConcurrencyWindowTests {
    @Test func `strain halves the places, and there is always one`() {
        var window = ConcurrencyWindow()
        var seen: [Int] = []
        for _ in 0..<5 {
            seen.append(window.places(limit: 8))
            window.strained(limit: 8)
        }
        #expect(seen == [8, 4, 2, 1, 1])
        #expect(window.places(limit: 8) == 1)
    }

    @Test func `a window of successes gives one place more, up to the limit`() {
        var window = ConcurrencyWindow()
        for _ in 0..<4 { window.strained(limit: 8) }
        var successes = 0
        var reached: [Int: Int] = [:]
        while window.places(limit: 8) < 8, successes < 1000 {
            window.succeeded(limit: 8)
            successes += 1
            reached[window.places(limit: 8)] = reached[window.places(limit: 8)] ?? successes
        }
        #expect(reached[2] == 1)
        #expect(reached[3].map { (3...4).contains($0) } == true)
        #expect((28...40).contains(successes))
        window.succeeded(limit: 8)
        #expect(window.places(limit: 8) == 8 && window.places(limit: 100) == 100)
    }

    @Test(arguments: [(8, 1, 8), (8, 2, 4), (8, 3, 2), (8, 9, 1), (1, 1, 1), (8, 0, 8)])
    func `workers share the places of an endpoint, and each has one`(perEndpoint: Int, workers: Int, share: Int) {
        var limits = SendLimits(perEndpoint: perEndpoint, total: 256)
        limits.workers = workers
        #expect(limits.share == share)
    }

    @Test(arguments: [Int.min, -1, 0])
    func `a limit that cannot be leaves one place`(limit: Int) {
        var window = ConcurrencyWindow()
        #expect(window.places(limit: limit) == 1)
        window.strained(limit: limit)
        window.succeeded(limit: limit)
        #expect(window.places(limit: limit) == 1)
        #expect(SendLimits(perEndpoint: limit, total: limit) == SendLimits(perEndpoint: 1, total: 1))
    }
}
