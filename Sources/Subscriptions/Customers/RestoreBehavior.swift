/// What becomes of a purchase that one customer owns and another restores (`restore_behavior`; RevenueCat: Restore
/// Behavior).
package enum RestoreBehavior: String, Sendable, CaseIterable {
    /// It moves to the customer who restores it.
    case transfer
    /// It moves only if no subscription of the owner gives access.
    case transferIfNoActiveSubscriptions = "transfer_if_no_active_subs"
    /// It stays with the owner.
    case keep = "error"
    /// Both become one customer.
    case share

    package enum RestoreDecision: Sendable, Equatable {
        /// It is theirs already.
        case nothing
        /// The two customers become one.
        case join
        /// All purchases of the owner that belong to the same Apple account move.
        case move
        /// It stays where it is, for this reason.
        case refused(String)
    }

    /// - Parameters:
    ///   - isSame: whether the owner restores it.
    ///   - isOwnerAnonymous: whether all ids of the owner are anonymous; such an owner is joined, whatever the setting.
    ///   - isRestore: false for a new purchase with an Apple account whose purchases the owner has: which joins no one
    ///     with them.
    ///   - ownerHasActiveSubscription: whether a subscription of the owner gives access now.
    package func outcome(
        isSame: Bool, isOwnerAnonymous: Bool, isRestore: Bool = true, ownerHasActiveSubscription: Bool
    ) -> RestoreDecision {
        if isSame { return .nothing }
        if isOwnerAnonymous { return .join }
        switch self {
        case .transfer: return .move
        case .transferIfNoActiveSubscriptions:
            return ownerHasActiveSubscription ? .refused("the owner has an active subscription") : .move
        case .keep: return .refused("purchases stay with their owner")
        case .share: return isRestore ? .join : .refused("purchases are shared by restoring them")
        }
    }
}
