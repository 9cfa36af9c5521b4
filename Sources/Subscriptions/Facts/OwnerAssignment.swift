/// Whose a purchase is by an entry of the log that does not ask who had it: what was granted, what a deleted customer had, and
/// what was found in a database that knew no acts.
package struct OwnerAssignment: Sendable, Hashable {
    /// The app user id that it was given to.
    package var owner: String
    /// Since when it counts, in ms since 1970.
    package var at: Int64
    /// The number of the action in the log, drawn while the purchase was held; of a purchase that was heard of after its buyer's
    /// deletion, that of the deletion.
    package var action: Int64
    /// Whether it says how an upgrade found the purchase.
    package var isFound: Bool

    package init(owner: String, at: Int64, action: Int64, isFound: Bool = false) {
        self.owner = owner
        self.at = at
        self.action = action
        self.isFound = isFound
    }
}

extension Sequence<OwnerAssignment> {
    /// The one that counts.
    package var newest: OwnerAssignment? {
        self.max { ($0.action, $0.at, $0.owner) < ($1.action, $1.at, $1.owner) }
    }
}
