import Base
import Subscriptions
import Testing

struct OwnerTests {
    @Test func `the owner is the token that was signed first`() throws {
        var life = Life()
        _ = life.start()
        life.renewal.appAccountToken = "later"
        _ = life.autoRenewOff(at: epoch + day)
        let purchase = try #require(life.purchase())
        #expect(purchase.owner(digest: digest) == .token("11111111-2222-4333-8444-555555555555"))
        #expect(purchase.tokens == ["11111111-2222-4333-8444-555555555555", "later"])
    }

    @Test func `an older fact that comes late changes the owner to what it always was`() throws {
        var life = Life()
        _ = life.start()
        var facts = life.facts
        var older = try #require(life.tellings[0].transaction)
        older.signedDate -= 1
        older.appAccountToken = "first"
        facts.insert(older)
        #expect(Purchase(folding: facts, key: life.key)?.tokens.first == "first")
    }

    @Test func `purchases of one account without a token share an anonymous owner`() throws {
        var first = Life("1", token: nil, account: "7047")
        var second = Life("2", token: nil, account: "7047")
        var other = Life("3", token: nil, account: nil)
        var another = Life("4", token: nil, account: nil)
        _ = (first.start(), second.start(), other.start(), another.start())
        let owners = try [first, second, other, another].map { try #require($0.purchase()).owner(digest: digest).id }
        #expect(owners[0] == owners[1])
        #expect(Set(owners).count == 3)
        for owner in owners {
            let digits = owner.dropFirst(Owner.anonymousPrefix.count)
            #expect(Owner.isAnonymous(owner))
            #expect(digits.count == 32 && digits.allSatisfy { "0123456789abcdef".contains($0) })
        }
    }

    @Test func `anonymous owners differ by app and environment`() {
        let ids = ["a", "b"].flatMap { app in
            StoreEnvironment.allCases.map { environment in
                Owner.anonymousID(
                    for: PurchaseKey(app: app, environment: environment, originalTransactionID: "1"), account: "7",
                    digest: digest)
            }
        }
        #expect(Set(ids).count == 4)
    }
}
