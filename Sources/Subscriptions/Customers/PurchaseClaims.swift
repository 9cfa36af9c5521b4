/// What the facts of one purchase say of who owns it: its part of `AccountOwners`.
package struct PurchaseClaims: Sendable, Hashable {
    /// An app account token, from when on the purchase is signed with it.
    package struct Token: Sendable, Hashable {
        /// The app user id that it names: a UUID is one in any case.
        package let appUserID: String
        /// ms.
        package let at: Int64
        package let transactionID: String
        /// Whether Apple charged for the transaction by itself.
        package let isRenewal: Bool
    }

    /// Apple's id of the account for this app (`appTransactionId`); nil: none of the facts has one, and the purchase is an
    /// account of its own.
    package let account: String?
    /// When it was bought, in ms.
    package let began: Int64
    package let isConsumable: Bool
    /// Oldest first; each other than the one before.
    package let tokens: [Token]
    /// Whether a transaction was signed without a token, so that an anonymous customer may have had it.
    package let wasWithoutToken: Bool
    /// When the account was first signed, in ms, where a transaction without a token was without an account, too: until then
    /// the purchase may have had an anonymous customer of its own.
    package let accountKnown: Int64?
    /// Oldest first.
    package let posts: [PurchasePost]
    /// In the order of the log.
    package let assignments: [OwnerAssignment]

    package init(
        account: String?, began: Int64, isConsumable: Bool, tokens: [Token], wasWithoutToken: Bool,
        accountKnown: Int64?, posts: [PurchasePost], assignments: [OwnerAssignment]
    ) {
        self.account = account
        self.began = began
        self.isConsumable = isConsumable
        self.tokens = tokens
        self.wasWithoutToken = wasWithoutToken
        self.accountKnown = accountKnown
        self.posts = posts
        self.assignments = assignments
    }
}

extension PurchaseClaims {
    /// Nil without a transaction: nothing that is known was bought.
    package init?(of facts: PurchaseFacts) {
        guard let newest = facts.transactions.newest(where: { _ in true }) else { return nil }
        let account = facts.signedAccount
        var names = UsableTokens()
        let withoutToken = facts.transactions.firsts.filter { names.token(of: $0) == nil }
        self.init(
            account: account?.id,
            began: facts.transactions.firsts.reduce(.max) { Swift.min($0, $1.originalPurchaseDate, $1.purchaseDate) },
            isConsumable: newest.kind == "Consumable", tokens: PurchaseClaims.tokens(facts.transactions, &names),
            wasWithoutToken: !withoutToken.isEmpty,
            accountKnown: withoutToken.contains { $0.appTransactionID == nil } ? account?.signed : nil,
            posts: facts.posts.sorted { $0.precedes($1) },
            assignments: facts.assignments.sorted { ($0.action, $0.at, $0.owner) < ($1.action, $1.at, $1.owner) })
    }

    /// A token counts from the purchase date of its transaction; where the same transaction was signed before without it,
    /// from that signature (Apple: Set App Account Token). The same token again says nothing new.
    private static func tokens(
        _ transactions: SignedVersions<TransactionFact>, _ names: inout UsableTokens
    ) -> [Token] {
        var seen: [Token] = []
        // What was said once has one token, however often it was signed.
        let contents = Dictionary(grouping: transactions.firsts) { $0.transactionID }
        let changed = Dictionary(
            grouping: contents.values.contains { $0.count > 1 }
                ? transactions.filter { contents[$0.transactionID]?.count ?? 0 > 1 } : []
        ) { $0.transactionID }
        for (id, contents) in contents {
            let versions = (changed[id] ?? contents).map { (fact: $0, token: names.token(of: $0)) }
            var last: String??
            for (version, token) in versions.sorted(by: { left, right in
                (left.fact.signedDate, left.token ?? "") < (right.fact.signedDate, right.token ?? "")
            }) {
                defer { last = .some(token) }
                guard let token, last != .some(token) else { continue }
                let at = last == nil ? version.purchaseDate : max(version.signedDate, version.purchaseDate)
                seen.append(
                    Token(
                        appUserID: token, at: at, transactionID: version.transactionID,
                        isRenewal: version.reason == "RENEWAL"))
            }
        }
        seen.sort { ($0.at, $0.appUserID, $0.transactionID) < ($1.at, $1.appUserID, $1.transactionID) }
        return seen.reduce(into: []) { acts, token in
            if acts.last?.appUserID != token.appUserID { acts.append(token) }
        }
    }
}

extension TransactionFact {
    /// The customer whom the token names. A family member's is the buyer's, and a token of zeros or one that can be no app
    /// user id names no customer.
    var usableToken: String? {
        guard !isFamilyShare, let token = self.appAccountToken, !AppUserID.isNobody(token: token) else { return nil }
        return AppUserID.canonical(token)
    }
}

/// Finds the usable tokens of many transactions, which have the same one nearly always.
private struct UsableTokens {
    private var known: (token: String, name: String?)?

    mutating func token(of fact: TransactionFact) -> String? {
        guard !fact.isFamilyShare, let token = fact.appAccountToken else { return nil }
        if let known, known.token.utf8.elementsEqual(token.utf8) { return known.name }
        let name = fact.usableToken
        known = (token, name)
        return name
    }
}

extension PurchaseFacts {
    /// The id that was named last, for explanations: by an action, else by a post, else by the token that was signed last.
    var namedCustomer: String? {
        if let action = assignments.newest { return action.owner }
        if let post = posts.max(by: { $0.precedes($1) }) { return post.appUserID }
        // The last of them are the newest nearly always, so that few tokens are looked at.
        return transactions.lasts.reversed().reduce(nil) { named, fact -> (signed: Int64, id: String)? in
            if let named, named.signed > fact.signedDate { return named }
            guard let token = fact.usableToken else { return named }
            return named.map { ($0.signed, $0.id) > (fact.signedDate, token) } ?? false
                ? named : (fact.signedDate, token)
        }?.id
    }

    /// Apple's id of the account; of contradictory ones the one that was signed first, then the lesser.
    var signedAccount: (signed: Int64, id: String)? {
        let all = [
            transactions.firsts.lazy.compactMap { fact in fact.appTransactionID.map { (fact.signedDate, $0) } }.min(
                by: <),
            renewals.firsts.lazy.compactMap { fact in fact.appTransactionID.map { (fact.signedDate, $0) } }.min(by: <),
        ]
        return all.compactMap(\.self).min(by: <).map { (signed: $0.0, id: $0.1) }
    }
}

extension PurchasePost {
    /// The order of acts: by their times, then by everything that they say. No two different posts are equal in it: the order
    /// of claims must not depend on how a set lists them.
    func precedes(_ other: PurchasePost) -> Bool {
        if counts != other.counts { return counts < other.counts }
        if at != other.at { return at < other.at }
        if appUserID != other.appUserID { return appUserID < other.appUserID }
        let said = (source.rawValue, transactionID ?? "", behavior.rawValue)
        let saidByOther = (other.source.rawValue, other.transactionID ?? "", other.behavior.rawValue)
        if said != saidByOther { return said < saidByOther }
        return (purchased ?? .min, flags) < (other.purchased ?? .min, other.flags)
    }

    private var flags: Int {
        (isRenewal ? 1 : 0) + (isAlone ? 2 : 0) + (wasNamed.map { $0 ? 8 : 4 } ?? 0)
    }
}
