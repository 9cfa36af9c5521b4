/// Who owns the purchases of one Apple account, and which ids are aliases because of them: a pure function of what is known of
/// the account.
///
/// Acts that name a customer are taken in the order of their times: a token where it first appears or changes, a post, an
/// operator's transfer. So no order of arrival changes anything. The rules are RevenueCat's (Restore Behavior; Apple server
/// notifications), but for what there depends on which message came first; EntitledApp.docc/Records.md has them in a table.
package struct AccountOwners: Sendable, Equatable {
    /// Two ids that name one customer because of what the account bought.
    package struct Join: Sendable, Hashable {
        package let one: String
        package let other: String
        /// Since when, in ms.
        package let at: Int64

        package init(one: String, other: String, at: Int64) {
            self.one = one
            self.other = other
            self.at = at
        }
    }

    /// App user ids by original transaction id.
    package let owners: [String: String]
    package let joins: Set<Join>
    /// The ids that are the account's own.
    package let anonymousIDs: Set<String>
    /// Whether some act was judged by whether a subscription was active: then any new fact may change what it did.
    package let judgesActivity: Bool

    /// The anonymous ids that an account may have.
    package struct Names {
        /// That of the account.
        package let account: String
        /// That of a purchase before its account was known, by original transaction id.
        let purchase: (String) -> String
        /// That of the account after a deletion, by the number of the action.
        package let deletion: (Int64) -> String

        /// - Parameters:
        ///   - scope: any purchase of the account; only its app and environment count.
        ///   - account: `appTransactionId`; nil: the purchase alone.
        package init(of scope: PurchaseKey, account: String?, digest: @escaping SaltedDigest) {
            self.account = Owner.anonymousID(for: scope, account: account, digest: digest)
            purchase = { id in
                let key = PurchaseKey(app: scope.app, environment: scope.environment, originalTransactionID: id)
                return Owner.anonymousID(for: key, account: nil, digest: digest)
            }
            deletion = { Owner.anonymousID(for: scope, account: account, deletion: $0, digest: digest) }
        }
    }

    /// Whether a subscription, by original transaction id, gives access at an instant in ms, leaving one transaction out.
    package typealias Activity = (_ purchase: String, _ instant: Int64, _ leavingOut: String?) throws -> Bool

    /// - Parameters:
    ///   - claims: of every purchase of the account, by original transaction id.
    ///   - activity: asked only where a customer keeps what is active (`transfer_if_no_active_subs`).
    package init(
        of claims: [String: PurchaseClaims], _ log: CustomerLog, _ settings: OwnerSettings, names: Names,
        activity: Activity
    ) throws {
        var course = AccountCourse(claims, settings, names)
        for step in AccountStep.steps(claims, log, settings) { try course.take(step, activity) }
        self = course.outcome()
    }

    init(owners: [String: String], joins: Set<Join>, anonymousIDs: Set<String>, judgesActivity: Bool) {
        self.owners = owners
        self.joins = joins
        self.anonymousIDs = anonymousIDs
        self.judgesActivity = judgesActivity
    }
}

/// Something that happens to an account.
struct AccountStep {
    enum Deed {
        case customer(CustomerLog.Deed, number: Int64)
        case begin(String)
        /// The account of a purchase is known from here on.
        case account(String)
        case token(PurchaseClaims.Token, String)
        case assignment(OwnerAssignment, String)
        case post(PurchasePost, String)
    }

    let at: Int64
    let deed: Deed

    /// In their order.
    static func steps(
        _ claims: [String: PurchaseClaims], _ log: CustomerLog, _ settings: OwnerSettings
    ) -> [AccountStep] {
        var steps: [AccountStep] = []
        for (purchase, claims) in claims {
            steps.append(AccountStep(at: claims.began, deed: .begin(purchase)))
            if let known = claims.accountKnown {
                steps.append(AccountStep(at: max(known, claims.began), deed: .account(purchase)))
            }
            steps += claims.tokens.filter { settings.entry(at: $0.at).usesTokens }.map {
                AccountStep(at: $0.at, deed: .token($0, purchase))
            }
            steps += claims.posts.map { AccountStep(at: $0.counts, deed: .post($0, purchase)) }
            // What an action said of a purchase that was there is not undone by its date.
            steps += claims.assignments.map {
                AccountStep(at: max($0.at, claims.began), deed: .assignment($0, purchase))
            }
        }
        steps += log.entries.map { AccountStep(at: $0.at, deed: .customer($0.deed, number: $0.number)) }
        return steps.sorted { $0.precedes($1) }
    }

    /// At one instant customers are joined before purchases begin, and tokens come before posts: what Apple signed was so when
    /// the app learned of it. What an operator does comes last.
    private var rank: Int {
        switch deed {
        case .customer(.join, _), .customer(.behavior, _): 0
        case .begin: 1
        case .token: 2
        case .post: 3
        case .customer(.transfer, _): 4
        case .assignment: 5
        case .customer(.delete, _): 6
        case .account: 7
        }
    }

    private func precedes(_ other: AccountStep) -> Bool {
        if at != other.at { return at < other.at }
        if rank != other.rank { return rank < other.rank }
        switch (deed, other.deed) {
        case (.customer(_, let one), .customer(_, let two)): return one < two
        case (.begin(let one), .begin(let two)), (.account(let one), .account(let two)): return one < two
        case (.token(let one, let first), .token(let two, let second)):
            return (one.appUserID, first) < (two.appUserID, second)
        case (.post(let one, let first), .post(let two, let second)):
            return one == two ? first < second : one.precedes(two)
        case (.assignment(let one, let first), .assignment(let two, let second)):
            return (one.action, one.owner, first) < (two.action, two.owner, second)
        default: return false
        }
    }
}
