/// What the configuration says of owners, and since when: an act counts by what was in force at its time, so that a later
/// configuration changes nothing of the past.
package struct OwnerSettings: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        /// ms since 1970.
        package let since: Int64
        /// What becomes of a purchase that is signed with another customer's token.
        package let behavior: RestoreBehavior
        /// Whether app account tokens are app user ids.
        package let usesTokens: Bool

        package init(since: Int64, behavior: RestoreBehavior, usesTokens: Bool) {
            self.since = since
            self.behavior = behavior
            self.usesTokens = usesTokens
        }
    }

    private let entries: [Entry]

    /// - Parameter entries: in any order. The oldest counts for all the time before it, too.
    package init(_ entries: [Entry] = []) {
        self.entries = entries.sorted { $0.since < $1.since }
    }

    private static let unset = Entry(since: .min, behavior: .transfer, usesTokens: true)

    package func entry(at instant: Int64) -> Entry {
        entries.last { $0.since <= instant } ?? entries.first ?? OwnerSettings.unset
    }

    /// Whether tokens were not app user ids at any time.
    package var everIgnoresTokens: Bool { entries.contains { !$0.usesTokens } }
}
