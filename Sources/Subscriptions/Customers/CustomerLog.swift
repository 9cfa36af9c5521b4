/// What the log says of the customers of one Apple account: with the claims of its purchases, all that `AccountOwners` follows
/// from.
package struct CustomerLog: Sendable, Equatable {
    package enum Deed: Sendable, Equatable {
        /// From then on two ids name one customer.
        case join(String, String)
        /// From then on the id names another customer, or none.
        case delete(String)
        /// What becomes of the purchases of the customer whom the id names; nil: what the configuration says.
        case behavior(String, RestoreBehavior?)
        /// All that one customer has bought goes to another. What moved and was known is assigned, too.
        case transfer(from: String, to: String)
    }

    package struct Entry: Sendable, Equatable {
        /// ms since 1970, by the clock of the database.
        package let at: Int64
        /// In the order of the log.
        package let number: Int64
        package let deed: Deed

        package init(at: Int64, number: Int64, deed: Deed) {
            self.at = at
            self.number = number
            self.deed = deed
        }
    }

    package var entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }
}
