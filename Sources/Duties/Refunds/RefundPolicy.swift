import Database

/// What is done where Apple asks about a refund.
package enum RefundPolicy: Sendable, Equatable {
    /// Nothing: Apple decides alone.
    case never
    /// Every question gets this answer; the customers have agreed.
    case auto(RefundAnswer)
    /// A person answers, and is warned before it is too late.
    case ask
}
