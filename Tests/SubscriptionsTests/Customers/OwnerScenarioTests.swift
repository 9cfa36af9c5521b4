import Base
import Subscriptions
import Testing

/// Stories of one Apple account: who owns what in the end, and which ids are aliases. Order cannot matter, because the function
/// takes sets; what it says is what these tests hold.
struct OwnerScenarioTests {
    private static let a = "a0000000-0000-4000-8000-000000000001"
    private static let b = "b0000000-0000-4000-8000-000000000002"
    private static let device = "$RCAnonymousID:00000000000000000000000000000001"

    /// An account as it is told.
    private struct Account {
        var facts: [String: PurchaseFacts] = [:]
        var log = CustomerLog()
        var settings = OwnerSettings()
        var behavior = RestoreBehavior.transfer
        var account: String? = "7047"

        /// A purchase on a day, for so many days, with a token.
        mutating func buys(
            _ id: String, day begins: Int64, lasts: Int64? = 30, token: String? = nil, kind: String? = nil,
            transaction: String? = nil, reason: String = "PURCHASE", signed: Int64? = nil,
            account other: String?? = nil,
            isFamily: Bool = false
        ) {
            let begun = facts[id]?.transactions.map(\.originalPurchaseDate).min() ?? epoch + begins * day
            let number = transaction ?? id
            facts[id, default: PurchaseFacts()].insert(
                TransactionFact(
                    transactionID: number, originalTransactionID: id, productID: "p",
                    purchaseDate: epoch + begins * day, originalPurchaseDate: begun,
                    expiresDate: lasts.map { epoch + (begins + $0) * day },
                    signedDate: epoch + (signed ?? begins) * day,
                    kind: kind ?? (lasts == nil ? "Non-Consumable" : "Auto-Renewable Subscription"),
                    ownership: isFamily ? "FAMILY_SHARED" : "PURCHASED", reason: reason, appAccountToken: token,
                    appTransactionID: other ?? account, tie: Array("\(number)|\(token ?? "")".utf8)))
        }

        mutating func posts(
            _ user: String, _ source: PurchasePost.Source, _ id: String, day at: Int64, transaction: String? = nil,
            isAlone: Bool = false
        ) {
            let fact = facts[id]?.transactions.first { $0.transactionID == transaction ?? id }
            facts[id, default: PurchaseFacts()].insert(
                PurchasePost(
                    by: user, source, transactionID: transaction ?? id, purchased: fact?.purchaseDate,
                    isRenewal: fact?.reason == "RENEWAL", isAlone: isAlone, behavior: behavior, at: epoch + at * day))
        }

        mutating func does(_ deed: CustomerLog.Deed, day at: Int64) {
            log.entries.append(
                CustomerLog.Entry(at: epoch + at * day, number: Int64(log.entries.count), deed: deed))
        }

        func judged() throws -> AccountOwners {
            let scope = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")
            let claims = facts.compactMapValues { PurchaseClaims(of: $0) }
            return try AccountOwners(
                of: claims, log, settings, names: AccountOwners.Names(of: scope, account: account, digest: digest)
            ) { purchase, instant, transaction in
                let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: purchase)
                return SubscriptionActivity(
                    of: facts[purchase] ?? PurchaseFacts(), key: key, foldSettings: FoldSettings()
                )
                .isActive(at: instant, leavingOut: transaction)
            }
        }

        /// Owners by purchase, "own" for the account's.
        func owners() throws -> [String: String] {
            let judged = try judged()
            return judged.owners.mapValues { id in
                let joined = judged.joins.first { $0.one == id && !judged.anonymousIDs.contains($0.other) }
                if judged.anonymousIDs.contains(id), joined == nil { return "own" }
                return ["A": a, "B": b, "X": device].first { $0.value == id }?.key ?? id
            }
        }

        /// Aliases, as pairs of names.
        func aliases() throws -> Set<String> {
            let judged = try judged()
            func name(_ id: String) -> String {
                judged.anonymousIDs.contains(id)
                    ? "own" : ["A": a, "B": b, "X": device].first { $0.value == id }?.key ?? id
            }
            return Set(judged.joins.map { "\(name($0.one))=\(name($0.other))" })
        }
    }

    private func story(
        _ behavior: RestoreBehavior = .transfer, settings: OwnerSettings? = nil, _ body: (inout Account) -> Void
    ) throws -> (owners: [String: String], aliases: Set<String>) {
        var account = Account()
        account.behavior = behavior
        account.settings = settings ?? OwnerSettings([.init(since: 0, behavior: behavior, usesTokens: true)])
        body(&account)
        return (try account.owners(), try account.aliases())
    }

    @Test func `claims list posts of one instant in one order, whichever came first`() {
        let bare = PurchasePost(by: "A", .restore, transactionID: "S1", behavior: .transfer, at: epoch)
        var posts = [bare]
        for second in 0..<20 as Range<Int64> {
            // A receipt tells whole seconds, the history milliseconds.
            var post = bare
            post.purchased = epoch - 1000 * second
            posts.append(post)
            post.isRenewal = true
            posts.append(post)
            post.isAlone = true
            posts.append(post)
            post.wasNamed = second % 2 == 0
            posts.append(post)
        }
        func claims(_ posts: [PurchasePost]) -> PurchaseClaims? {
            var account = Account()
            account.buys("S1", day: 0)
            for post in posts { account.facts["S1"]?.insert(post) }
            return account.facts["S1"].flatMap { PurchaseClaims(of: $0) }
        }
        let first = claims(posts)
        #expect(first?.posts.count == posts.count)
        #expect(claims(posts.reversed()) == first)
        for place in stride(from: 1, to: posts.count, by: 7) {
            #expect(claims(Array(posts[place...] + posts[..<place])) == first)
        }
    }

    private static func aBuysBRestores(_ account: inout Account) {
        account.buys("S1", day: 0)
        account.posts(a, .purchase, "S1", day: 1)
        account.posts(b, .restore, "S1", day: 2)
    }

    @Test func `1 and 2, another customer restores`() throws {
        #expect(try story { Self.aBuysBRestores(&$0) }.owners == ["S1": "B"])
        #expect(try story { Self.aBuysBRestores(&$0) }.aliases == ["own=A"])
        #expect(try story(.keep) { Self.aBuysBRestores(&$0) }.owners == ["S1": "A"])
    }

    @Test func `3, restored while it is active, in grace, lapsed, in retry`() throws {
        let behavior = RestoreBehavior.transferIfNoActiveSubscriptions
        #expect(try story(behavior) { Self.aBuysBRestores(&$0) }.owners == ["S1": "A"])
        let lapsed = try story(behavior) { account in
            account.buys("S1", day: 0)
            account.posts(Self.a, .purchase, "S1", day: 1)
            account.posts(Self.b, .restore, "S1", day: 40)
        }
        #expect(lapsed.owners == ["S1": "B"])
        for (grace, expected) in [(Int64(50), "A"), (nil, "B")] {
            let unpaid = try story(behavior) { account in
                account.buys("S1", day: 0)
                account.facts["S1"]?.insert(
                    RenewalFact(
                        originalTransactionID: "S1", autoRenewStatus: 1, isInBillingRetryPeriod: true,
                        gracePeriodExpiresDate: grace.map { epoch + $0 * day }, signedDate: epoch + 30 * day, tie: [1]))
                account.posts(Self.a, .purchase, "S1", day: 1)
                account.posts(Self.b, .restore, "S1", day: 40)
            }
            #expect(unpaid.owners == ["S1": expected])
        }
    }

    @Test func `4, shared by restoring, not by buying`() throws {
        #expect(try story(.share) { Self.aBuysBRestores(&$0) }.aliases == ["own=A", "A=B"])
        let bought = try story(.share) { account in
            account.buys("S1", day: 0)
            account.buys("S2", day: 2)
            account.posts(Self.a, .purchase, "S1", day: 1)
            account.posts(Self.b, .purchase, "S2", day: 3)
        }
        #expect(bought.owners == ["S1": "A", "S2": "A"])
        #expect(bought.aliases == ["own=A"])
    }

    @Test(arguments: [
        (RestoreBehavior.transfer, "B"), (.keep, "A"), (.transferIfNoActiveSubscriptions, "A"),
    ])
    func `5, another customer buys with the account`(behavior: RestoreBehavior, owner: String) throws {
        let found = try story(behavior) { account in
            account.buys("S1", day: 0)
            account.buys("S2", day: 2)
            account.posts(Self.a, .purchase, "S1", day: 1)
            account.posts(Self.b, .purchase, "S2", day: 3)
        }
        #expect(found.owners == ["S1": owner, "S2": owner])
    }

    @Test(arguments: RestoreBehavior.allCases)
    func `6, consumables are their buyers'`(behavior: RestoreBehavior) throws {
        let found = try story(behavior) { account in
            account.buys("C1", day: 0, lasts: nil, kind: "Consumable")
            account.buys("C2", day: 2, lasts: nil, kind: "Consumable")
            account.posts(Self.a, .purchase, "C1", day: 1)
            account.posts(Self.b, .purchase, "C2", day: 3)
            account.posts(Self.b, .restore, "C2", day: 4)
            account.posts(Self.b, .restore, "C1", day: 5)
        }
        #expect(found.owners == ["C1": "A", "C2": "B"])
    }

    @Test(arguments: [
        (RestoreBehavior.transfer, "B"), (.transferIfNoActiveSubscriptions, "B"), (.keep, "A"),
    ])
    func `7, bought again by another customer after it lapsed`(behavior: RestoreBehavior, owner: String) throws {
        let found = try story(behavior) { account in
            account.buys("S1", day: 0)
            account.posts(Self.a, .purchase, "S1", day: 1)
            account.buys("S1", day: 60, transaction: "S1-2")
            account.posts(Self.b, .purchase, "S1", day: 60, transaction: "S1-2")
        }
        #expect(found.owners == ["S1": owner])
    }

    @Test func `8, 9 and 10, renewals move nothing`() throws {
        let eight = try story { account in
            account.buys("S1", day: 0)
            account.posts(Self.a, .purchase, "S1", day: 1)
            account.buys("S1", day: 30, transaction: "S1-2", reason: "RENEWAL")
            account.posts(Self.b, .queue, "S1", day: 31, transaction: "S1-2")
        }
        #expect(eight.owners == ["S1": "A"])
        let nine = try story { account in
            Self.aBuysBRestores(&account)
            account.buys("S1", day: 30, transaction: "S1-2", reason: "RENEWAL")
            account.posts(Self.a, .queue, "S1", day: 31, transaction: "S1-2")
        }
        #expect(nine.owners == ["S1": "B"])
        let ten = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.posts(Self.b, .restore, "S1", day: 2)
            account.buys("S1", day: 30, token: Self.a, transaction: "S1-2", reason: "RENEWAL")
        }
        #expect(ten.owners == ["S1": "B"])
        #expect(ten.aliases == [])
    }

    @Test(arguments: RestoreBehavior.allCases)
    func `11, an anonymous owner is merged`(behavior: RestoreBehavior) throws {
        let found = try story(behavior) { account in
            account.buys("S1", day: 0)
            account.posts(Self.device, .purchase, "S1", day: 1)
            account.posts(Self.a, .restore, "S1", day: 2)
        }
        #expect(found.owners == ["S1": "X"])
        #expect(found.aliases == ["own=X", "X=A"])
    }

    @Test(arguments: [(RestoreBehavior.transfer, "X"), (.keep, "A")])
    func `12, an anonymous customer restores`(behavior: RestoreBehavior, owner: String) throws {
        let found = try story(behavior) { account in
            account.buys("S1", day: 0)
            account.posts(Self.a, .purchase, "S1", day: 1)
            account.posts(Self.device, .restore, "S1", day: 2)
        }
        #expect(found.owners == ["S1": owner])
        #expect(found.aliases == ["own=A"])
    }

    @Test(arguments: [PurchasePost.Source.purchase, .queue])
    func `13 and 14, the buyer becomes known`(source: PurchasePost.Source) throws {
        let thirteen = try story { account in
            account.buys("S1", day: 0)
            account.posts(Self.a, source, "S1", day: 1)
        }
        #expect(thirteen.owners == ["S1": "A"])
        #expect(thirteen.aliases == ["own=A"])
        let fourteen = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.posts(Self.a.uppercased(), source, "S1", day: 1)
        }
        #expect(fourteen.owners == ["S1": "A"])
        #expect(fourteen.aliases == [])
    }

    @Test func `15, an app whose tokens are not its app user ids`() throws {
        func told(_ behavior: RestoreBehavior, usesTokens: Bool = true) throws -> (
            owners: [String: String], aliases: Set<String>
        ) {
            try story(behavior, settings: OwnerSettings([.init(since: 0, behavior: behavior, usesTokens: usesTokens)]))
            {
                $0.buys("S1", day: 0, token: Self.a)
                $0.posts("bob", .purchase, "S1", day: 1)
            }
        }
        #expect(try told(.transfer).owners == ["S1": "bob"])
        #expect(try told(.keep).owners == ["S1": "A"])
        #expect(try told(.keep, usesTokens: false).owners == ["S1": "bob"])
        #expect(try told(.keep, usesTokens: false).aliases == ["own=bob"])
    }

    @Test func `16, each purchase with the token of its buyer`() throws {
        func told(_ behavior: RestoreBehavior, posts: Bool) throws -> [String: String] {
            try story(behavior) { account in
                account.buys("S1", day: 0, token: Self.a)
                account.buys("S2", day: 2, token: Self.b)
                if posts { account.posts(Self.b, .purchase, "S2", day: 3) }
            }.owners
        }
        for behavior in RestoreBehavior.allCases {
            #expect(try told(behavior, posts: false) == ["S1": "A", "S2": "B"])
        }
        #expect(try told(.transfer, posts: true) == ["S1": "B", "S2": "B"])
        #expect(try told(.keep, posts: true) == ["S1": "A", "S2": "B"])
    }

    @Test(arguments: [(RestoreBehavior.transfer, "B"), (.keep, "A")])
    func `17 and 18, a purchase is signed with another token`(behavior: RestoreBehavior, owner: String) throws {
        let seventeen = try story(behavior) { account in
            account.buys("S1", day: 0, token: Self.a)
            account.buys("S1", day: 10, token: Self.b, transaction: "S1-2")
        }
        #expect(seventeen.owners == ["S1": owner])
        let again = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.posts("carol", .restore, "S1", day: 10)
            account.buys("S1", day: 0, token: Self.b, signed: 20)
        }
        #expect(again.owners == ["S1": "B"])
        let renewed = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.posts("carol", .restore, "S1", day: 10)
            account.buys("S1", day: 30, token: Self.b, transaction: "S1-2", reason: "RENEWAL")
        }
        #expect(renewed.owners == ["S1": "B"])
    }

    @Test func `19 and 20, family members and what no act names`() throws {
        let nineteen = try story { account in
            account.buys("F", day: 0, token: Self.a, isFamily: true)
        }
        #expect(nineteen.owners == ["F": "own"])
        let twenty = try story { account in
            account.buys("P", day: -900, account: .some(nil))
            account.buys("P", day: 20, transaction: "P-2", reason: "RENEWAL")
            Self.aBuysBRestores(&account)
            account.buys("L", day: 5, lasts: nil)
        }
        #expect(twenty.owners == ["S1": "B", "L": "B", "P": "B"])
        #expect(twenty.aliases == ["own=A", "own=B"])
    }

    @Test func `what was moved back, a post before its purchase, a refusal that a late fact takes back`() throws {
        let back = try story { account in
            Self.aBuysBRestores(&account)
            account.posts(Self.a, .restore, "S1", day: 3)
        }
        #expect(back.owners == ["S1": "A"])
        let early = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.posts(Self.b, .restore, "S1", day: -1)
        }
        #expect(early.owners == ["S1": "B"])
        func late(_ isKnown: Bool) throws -> [String: String] {
            try story(.transferIfNoActiveSubscriptions) { account in
                account.buys("S1", day: 0)
                if isKnown { account.buys("S1", day: 30, transaction: "S1-2", reason: "RENEWAL") }
                account.posts(Self.a, .purchase, "S1", day: 1)
                account.posts(Self.b, .restore, "S1", day: 40)
            }.owners
        }
        #expect(try late(false) == ["S1": "B"])
        #expect(try late(true) == ["S1": "A"])
    }

    @Test func `the owner's own setting counts`() throws {
        for (user, expected) in [(Self.a, "A"), (Self.b, "B")] {
            let found = try story { account in
                Self.aBuysBRestores(&account)
                account.does(.behavior(user, .keep), day: 1)
            }
            #expect(found.owners == ["S1": expected])
        }
    }

    @Test func `an operator's transfer stays, whatever is heard late`() throws {
        let found = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.buys("S2", day: 1, token: Self.a)
            account.does(.transfer(from: Self.a, to: Self.b), day: 5)
            account.buys("S1", day: 30, token: Self.a, transaction: "S1-2", reason: "RENEWAL")
        }
        #expect(found.owners == ["S1": "B", "S2": "B"])
    }

    @Test func `ids that people joined are one customer`() throws {
        let found = try story(.keep) { account in
            Self.aBuysBRestores(&account)
            account.does(.join(Self.a, Self.b), day: 1)
        }
        #expect(found.aliases == ["own=A"])
        // The account's own id was given to bob by an operator, so that what no act named is his.
        var account = Account()
        account.behavior = .keep
        account.buys("S1", day: 0)
        let own = try #require(try account.judged().owners["S1"])
        account.does(.join("bob", own), day: 1)
        account.posts(Self.b, .purchase, "S1", day: 2)
        #expect(try account.judged().owners == ["S1": own])
        #expect(try account.judged().joins == [])
    }

    @Test func `a deletion names no customer any more, and makes the account a new id`() throws {
        var account = Account()
        account.buys("S1", day: 0)
        account.posts(Self.a, .purchase, "S1", day: 1)
        let before = try account.judged()
        account.does(.delete(Self.a), day: 5)
        account.buys("L", day: 3, lasts: nil)
        account.buys("M", day: 9, lasts: nil)
        let after = try account.judged()
        let own = try #require(after.owners["S1"])
        #expect(after.owners == ["S1": own, "L": own, "M": own])
        #expect(!before.anonymousIDs.contains(own) && after.anonymousIDs.contains(own))
        #expect(after.joins == [])
    }

    @Test func `an upgrade keeps the owner that it found`() throws {
        let found = try story { account in
            account.buys("S1", day: 0, token: Self.a)
            account.facts["S1"]?.insert(OwnerAssignment(owner: "carol", at: epoch + 10 * day, action: 1, isFound: true))
            account.buys("S1", day: 30, token: Self.a, transaction: "S1-2", reason: "RENEWAL")
        }
        #expect(found.owners == ["S1": "carol"])
        let moved = try story { account in
            account.buys("S1", day: 0)
            account.facts["S1"]?.insert(OwnerAssignment(owner: "carol", at: epoch + 10 * day, action: 1, isFound: true))
            account.posts(Self.b, .restore, "S1", day: 11)
        }
        #expect(moved.owners == ["S1": "B"])
        #expect(moved.aliases == [])
    }
}
