/// Somebody's word on whose a purchase is: an operator's, or that of an app in which it was restored. Outranks whatever
/// Apple signed, from when on it was given.
package struct OwnerAssignment: Sendable, Hashable {
    /// The app user id that it was given to.
    package var owner: String
    /// When, in ms since 1970. Clocks differ, so it decides nothing.
    package var at: Int64
    /// The number of the action in the log, drawn while the purchase was held: the greatest counts.
    package var action: Int64

    package init(owner: String, at: Int64, action: Int64) {
        self.owner = owner
        self.at = at
        self.action = action
    }
}

extension Sequence<OwnerAssignment> {
    /// The one that counts.
    package var newest: OwnerAssignment? {
        self.max { ($0.action, $0.at, $0.owner) < ($1.action, $1.at, $1.owner) }
    }
}
