/// What becomes of two ids where a user of one logs in with the other (RevenueCat: Identifying Customers, "Logging in
/// with a custom App User ID").
package enum LoginResolution: Sendable, Equatable, CaseIterable {
    /// Nothing changes: from now on the app uses the other id.
    case switched
    /// A customer is made for the other id, apart from the first.
    case created
    /// Both ids name one customer, who has what either had.
    case joined

    /// - Parameters:
    ///   - isSame: whether both ids name one customer.
    ///   - isCurrentAnonymous: whether no id of the customer who logs in names a person.
    ///   - target: the customer whom the other id names; nil: none.
    package static func outcome(isSame: Bool, isCurrentAnonymous: Bool, target: Target?) -> LoginResolution {
        if isSame { return .switched }
        guard let target else { return isCurrentAnonymous ? .joined : .created }
        // A customer with an anonymous id already uses another device: the purchases of this one stay apart.
        return isCurrentAnonymous && !target.hasAnonymousID ? .joined : .switched
    }

    package struct Target: Sendable, Equatable {
        /// Whether one of the ids is anonymous.
        package let hasAnonymousID: Bool

        package init(hasAnonymousID: Bool) {
            self.hasAnonymousID = hasAnonymousID
        }
    }
}
