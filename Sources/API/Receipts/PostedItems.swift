import AppStore
import Base
import Customers
import Database
import Ingest
import Subscriptions

/// What is kept of one post: what the app brought, and what Apple says of the rest of its account.
struct PostedItems {
    private(set) var admitted: [TransactionAdmission.Admitted] = []
    /// What a receipt lists, as long as it is all that is known of it.
    private(set) var listed: [CustomerActions.Posted] = []
    /// Other purchases of the same account.
    private(set) var rest: [CustomerActions.Posted] = []
    /// How subscriptions stand.
    private(set) var states: [NewNotification] = []
    private(set) var look: CustomerActions.AccountLook?
    /// Whether each transaction stands for its purchase alone.
    let isAlone: Bool

    init(isAlone: Bool = false) {
        self.isAlone = isAlone
    }

    /// A signed transaction, which stands for its account.
    init(_ admitted: [TransactionAdmission.Admitted]) {
        self.admitted = admitted
        isAlone = false
    }

    /// What a receipt lists.
    init(listed: [CustomerActions.Posted]) {
        self.listed = listed
        isAlone = true
    }

    func with(rest: [CustomerActions.Posted]) -> PostedItems {
        var items = self
        items.rest = rest
        return items
    }

    /// With what Apple says: of what a receipt lists it is what the app brought.
    func with(_ found: AccountLookup.Found?, _ settings: PostingSettings) -> PostedItems {
        guard let found else { return self }
        var items = self
        let keys = Set(listed.map(\.key))
        items.admitted += found.transactions.filter { keys.contains($0.key) }
        items.rest = found.transactions.filter { !keys.contains($0.key) }.compactMap { settings.posted($0) }
        items.states = found.states.map(\.entry)
        return items
    }

    /// - Parameters:
    ///   - asked: transactions that Apple was to be asked for one by one.
    func looked(
        _ subject: AccountLookTable.Subject, _ outcome: AccountLooks.Outcome, asked others: Set<String> = [],
        isRestore: Bool
    ) -> PostedItems {
        var items = self
        let rest = outcome.found?.rest
        items.look = CustomerActions.AccountLook(
            of: subject, isDone: outcome.isWhole,
            AccountLookTable.Progress(revision: rest?.revision, others: rest?.others ?? others), isRestore: isRestore)
        return items
    }

    /// What the customer claims by it.
    func posted(
        _ settings: PostingSettings, context: (TransactionFact) -> TransactionContext?
    ) -> [CustomerActions.Posted] {
        listed + admitted.compactMap { settings.posted($0, context: context) }
    }
}

extension AccountLooks.Outcome {
    var found: AccountLookup.Found? {
        switch self {
        case .whole(let found): found
        case .unknown: nil
        case .late(let found): found
        }
    }

    /// Whether it is everything that Apple knows.
    var isWhole: Bool { if case .whole = self { true } else { false } }
}
