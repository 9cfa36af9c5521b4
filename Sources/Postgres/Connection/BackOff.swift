/// Growing pauses between attempts, with a fifth of chance so that many processes do not come at once.
struct BackOff {
    private let bounds: ClosedRange<Duration>
    private(set) var failures = 0
    private var next: ContinuousClock.Instant?

    init(_ bounds: ClosedRange<Duration>) {
        self.bounds = bounds
    }

    var remaining: Duration {
        next.map { max(.zero, $0 - .now) } ?? .zero
    }

    mutating func fail() {
        let pause = min(bounds.upperBound, bounds.lowerBound * (1 << min(failures, 16)))
        failures = min(failures + 1, 1000)
        next = .now + pause * Double.random(in: 0.8...1.2)
    }

    mutating func reset() {
        failures = 0
        next = nil
    }
}
