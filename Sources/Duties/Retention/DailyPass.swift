/// When work that is done once a day is due again.
struct DailyPass {
    private var next = ContinuousClock.now

    private static let interval = Duration.seconds(86_400)

    var isDue: Bool { ContinuousClock.now >= next }

    mutating func finish() {
        next = ContinuousClock.now + DailyPass.interval
    }

    /// The next pass begins at once.
    mutating func hurry() {
        next = ContinuousClock.now
    }
}
