/// How long a call may take, who waits for it, and how it is ended early.
package struct CallOptions: Sendable {
    package enum Priority: Int, Sendable, Comparable {
        /// Work in the background, which can wait.
        case background
        /// Work in the background with a promised time: goes before sweeps.
        case prompt
        /// A person or an app waits: goes before sweeps where the rate is limited.
        case interactive

        package static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }
    }

    package var priority: Priority
    /// For the whole call: waiting for the rate, every attempt, and the waits between them.
    package var deadline: ContinuousClock.Instant
    package var cancellation: Cancellation

    package init(
        priority: Priority = .interactive, within time: Duration = .seconds(60),
        cancellation: Cancellation = Cancellation()
    ) {
        self.priority = priority
        deadline = .now + time
        self.cancellation = cancellation
    }
}
