/// What is known of a notification that could not be applied.
package struct HeldState: Sendable, Equatable {
    /// How often applying it failed.
    package let attempts: Int
    /// When it failed first, in ms since 1970.
    package let since: Int64

    package init(attempts: Int, since: Int64) {
        self.attempts = attempts
        self.since = since
    }
}
