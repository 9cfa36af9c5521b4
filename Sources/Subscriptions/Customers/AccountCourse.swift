/// Goes through what happened to an account, act by act.
struct AccountCourse {
    private let claims: [String: PurchaseClaims]
    private let settings: OwnerSettings
    private let names: AccountOwners.Names

    /// Who has a purchase, and by which id.
    private struct Holder {
        let id: String
        let customer: CustomerClasses.Member
    }

    private var customers = CustomerClasses()
    /// Of purchases that were begun; those without one are the account's own customer's.
    private var holders: [String: Holder] = [:]
    /// Purchases that were begun, in their order.
    private var begun: [String] = []
    /// Purchases that an act named or covered.
    private var named: Set<String> = []
    /// When an action gave a purchase to a customer, in ms.
    private var assigned: [String: Int64] = [:]
    /// Transactions that an act named.
    private var namedTransactions: Set<String> = []
    /// The customer of the latest act: what no act names is theirs.
    private var owner: Holder?
    /// The account's own id at this time.
    private var anonymous: String
    private var joins: Set<AccountOwners.Join> = []
    private var anonymousIDs: Set<String>
    private var judgesActivity = false
    /// Whether an owner was deleted: then the account's id of that time holds what was theirs.
    private var isDeleted = false
    /// Until when an upgrade keeps what it found, in ms.
    private let found: Int64

    init(_ claims: [String: PurchaseClaims], _ settings: OwnerSettings, _ names: AccountOwners.Names) {
        self.claims = claims
        self.settings = settings
        self.names = names
        anonymous = names.account
        anonymousIDs = [names.account]
        found = claims.values.flatMap(\.assignments).filter(\.isFound).map(\.at).max() ?? .min
    }

    mutating func take(_ step: AccountStep, _ activity: AccountOwners.Activity) throws {
        switch step.deed {
        case .customer(let deed, let number): take(deed, number, at: step.at)
        case .begin(let purchase):
            begun.append(purchase)
            holders[purchase] = owner
        case .assignment(let assignment, let purchase): assign(assignment, purchase)
        case .token(let token, let purchase): try take(token, purchase, activity)
        case .account(let purchase):
            anonymousIDs.insert(names.purchase(purchase))
            note(names.purchase(purchase), holders[purchase]?.id ?? anonymous, at: step.at)
        case .post(let post, let purchase): try take(post, purchase, at: step.at, activity)
        }
    }

    // MARK: - Acts

    private mutating func take(
        _ token: PurchaseClaims.Token, _ purchase: String, _ activity: AccountOwners.Activity
    ) throws {
        defer { namedTransactions.insert(token.transactionID) }
        let user = holder(token.appUserID)
        guard named.contains(purchase), let former = holders[purchase] else {
            // A purchase of its own, signed with the token.
            return give([purchase], to: user, at: token.at)
        }
        if customers.areOne(former.customer, user.customer) { return give([], to: user, at: token.at) }
        // Consumables stay with their buyer.
        if isConsumable(purchase) { return }
        guard customers.isNamed(former.customer) else {
            join(former, user, at: token.at)
            return give([purchase], to: user, at: token.at)
        }
        let claim = Claim(
            at: token.at, behavior: settings.entry(at: token.at).behavior, isRestore: false, purchase: purchase,
            transactionID: token.transactionID, purchased: token.at, isRenewal: token.isRenewal)
        if try outcome(of: claim, former, activity) == .move { give([purchase], to: user, at: token.at) }
    }

    private mutating func take(
        _ post: PurchasePost, _ purchase: String, at instant: Int64, _ activity: AccountOwners.Activity
    ) throws {
        defer { if let id = post.transactionID { namedTransactions.insert(id) } }
        let user = holder(post.appUserID, isNamed: post.wasNamed)
        // Consumables are their buyer's: no post moves them, and they move nothing.
        if isConsumable(purchase) || post.source == .queue {
            // A renewal says nothing of who bought; what the account's owner has by its date stays theirs.
            let isOthers = holders[purchase].map { customers.isNamed($0.customer) } ?? false
            let isRenewal = post.source == .queue && post.isRenewal && isOthers
            if !named.contains(purchase), !isRenewal { give([purchase], to: user, at: instant) }
            return
        }
        let claim = Claim(
            at: instant, behavior: post.behavior, isRestore: post.source == .restore, purchase: purchase,
            transactionID: post.transactionID, purchased: post.purchased, isRenewal: post.isRenewal)
        let covered = post.isAlone ? [purchase] : begun.filter { !isConsumable($0) }
        var keepers: [Holder] = []
        // Each customer who has some of it, beginning with the purchase itself: where its owner keeps it, nothing moves.
        for place in [purchase] + covered {
            guard let former = holders[place], !customers.areOne(former.customer, user.customer),
                !keepers.contains(where: { customers.areOne($0.customer, former.customer) })
            else { continue }
            guard customers.isNamed(former.customer) else {
                join(former, user, at: instant)
                continue
            }
            switch try outcome(of: claim, former, activity) {
            case .move: give(covered.filter { isHeld($0, by: former) }, to: user, at: instant)
            case .join: join(former, user, at: instant)
            case .refused where place == purchase:
                // It is its owner's by this act: what the queue brings later does not ask again.
                named.insert(purchase)
                return
            case .refused, .nothing: keepers.append(former)
            }
        }
        give(covered.filter { holders[$0] == nil || isHeld($0, by: user) }, to: user, at: instant)
    }

    /// Follows an action of the log, whichever customer owned the purchase.
    private mutating func assign(_ assignment: OwnerAssignment, _ purchase: String) {
        let user = holder(assignment.owner)
        assigned[purchase] = max(assignment.at, assigned[purchase] ?? .min)
        holders[purchase] = user
        named.insert(purchase)
        if customers.isNamed(user.customer) { owner = user }
    }

    private mutating func take(_ deed: CustomerLog.Deed, _ number: Int64, at instant: Int64) {
        switch deed {
        case .join(let one, let other):
            let (left, right) = (customers.member(one), customers.member(other))
            customers.join(left, right)
            nameOwn()
        case .behavior(let id, let behavior): customers.setBehavior(behavior, of: id, number: number)
        case .delete(let id): delete(id, number)
        case .transfer(let from, let to):
            let (former, user, own) = (holder(from), holder(to), holder(anonymous))
            let moving = begun.filter { customers.areOne((holders[$0] ?? own).customer, former.customer) }
            guard !moving.isEmpty else { return }
            for purchase in moving { holders[purchase] = user }
            named.formUnion(moving)
            owner = user
        }
    }

    /// People may join the account's own id to a customer: then what no act named is theirs.
    private mutating func nameOwn() {
        let own = holder(anonymous)
        guard owner == nil, customers.isNamed(own.customer) else { return }
        for purchase in begun where holders[purchase] == nil {
            holders[purchase] = own
            named.insert(purchase)
        }
        owner = own
    }

    /// What a deleted customer had goes to an id of the account that cannot be told from theirs.
    private mutating func delete(_ id: String, _ number: Int64) {
        let gone = customers.delete(id)
        let name = AppUserID.canonical(id)
        joins = joins.filter { AppUserID.canonical($0.one) != name && AppUserID.canonical($0.other) != name }
        let theirs = begun.filter { purchase in holders[purchase].map { customers.areOne($0.customer, gone) } ?? false }
        let isOwner = owner.map { customers.areOne($0.customer, gone) } ?? false
        guard isOwner || !theirs.isEmpty || id == anonymous else { return }
        isDeleted = true
        anonymous = names.deletion(number)
        anonymousIDs.insert(anonymous)
        let heir = holder(anonymous)
        for purchase in theirs { holders[purchase] = heir }
        for purchase in begun where holders[purchase] == nil { holders[purchase] = heir }
        named.formUnion(theirs)
        if isOwner { owner = nil }
    }

    // MARK: - Steps

    /// What decides whether a customer may take what another one has.
    private struct Claim {
        let at: Int64
        let behavior: RestoreBehavior
        let isRestore: Bool
        let purchase: String
        let transactionID: String?
        /// ms.
        let purchased: Int64?
        let isRenewal: Bool
    }

    private mutating func outcome(
        of claim: Claim, _ former: Holder, _ activity: AccountOwners.Activity
    ) throws -> RestoreBehavior.RestoreDecision {
        let behavior = customers.behavior(of: former.customer) ?? claim.behavior
        return behavior.outcome(
            isSame: false, isOwnerAnonymous: false, isRestore: claim.isRestore,
            ownerHasActiveSubscription: behavior == .transferIfNoActiveSubscriptions
                ? try isActive(former, claim, activity) : false)
    }

    /// Without the transaction that is claimed, where the customer has just bought it: a notification that is heard before the
    /// post must not refuse what the post alone would get.
    private mutating func isActive(
        _ former: Holder, _ claim: Claim, _ activity: AccountOwners.Activity
    ) throws -> Bool {
        judgesActivity = true
        let wasAssigned = assigned[claim.purchase].map { $0 >= claim.purchased ?? .min } ?? false
        let isNew =
            !claim.isRestore && !claim.isRenewal && !wasAssigned
            && claim.transactionID.map { !namedTransactions.contains($0) } ?? false
        for purchase in begun where isHeld(purchase, by: former) && !isConsumable(purchase) {
            if try activity(purchase, claim.at, isNew ? claim.transactionID : nil) { return true }
        }
        return false
    }

    private mutating func holder(_ id: String, isNamed: Bool? = nil) -> Holder {
        Holder(id: id, customer: customers.member(id, isNamed: isNamed))
    }

    private func isHeld(_ purchase: String, by holder: Holder) -> Bool {
        holders[purchase].map { customers.areOne($0.customer, holder.customer) } ?? false
    }

    private func isConsumable(_ purchase: String) -> Bool { claims[purchase]?.isConsumable ?? false }

    /// An act names a customer: purchases become theirs, and so does what was bought before any act.
    private mutating func give(_ purchases: [String], to user: Holder, at instant: Int64) {
        for purchase in purchases {
            named.insert(purchase)
            if !isHeld(purchase, by: user) { holders[purchase] = user }
        }
        if owner == nil {
            for purchase in begun where holders[purchase] == nil { holders[purchase] = user }
            // What a deleted customer had must not come with what the account buys later.
            if mayBeAnonymous, !isDeleted { join(holder(anonymous), user, at: instant) }
        }
        owner = user
    }

    /// Whether the account's own id may have been the owner of something, had that been heard of first.
    private var mayBeAnonymous: Bool {
        claims.values.contains { $0.wasWithoutToken || (settings.everIgnoresTokens && !$0.tokens.isEmpty) }
    }

    private mutating func join(_ former: Holder, _ user: Holder, at instant: Int64) {
        guard !customers.areOne(former.customer, user.customer) else { return }
        customers.join(former.customer, user.customer)
        note(former.id, user.id, at: instant)
    }

    private mutating func note(_ one: String, _ other: String, at instant: Int64) {
        guard instant > found, one != other else { return }
        joins.insert(AccountOwners.Join(one: one, other: other, at: instant))
    }

    func outcome() -> AccountOwners {
        AccountOwners(
            owners: claims.keys.reduce(into: [:]) { $0[$1] = holders[$1]?.id ?? anonymous }, joins: joins,
            anonymousIDs: anonymousIDs, judgesActivity: judgesActivity)
    }
}
