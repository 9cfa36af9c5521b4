import Base
import Subscriptions
import Testing

/// What tokens claim, and ids that are made of accounts.
struct OwnerTests {
    private let first = "11111111-2222-4333-8444-555555555555"
    private let second = "22222222-2222-4333-8444-555555555555"

    private func tokens(_ life: Life) throws -> [String] {
        try #require(PurchaseClaims(of: life.facts)).tokens.map { "\($0.appUserID.prefix(1))@\(($0.at - epoch) / day)" }
    }

    @Test func `a token counts where it first appears, and where it changes`() throws {
        var life = Life(token: first)
        _ = life.start()
        _ = life.renew(at: life.expires)
        life.token = nil
        _ = life.renew(at: life.expires)
        life.token = first.uppercased()
        _ = life.renew(at: life.expires)
        #expect(try tokens(life) == ["1@0"])
        life.token = second
        _ = life.renew(at: life.expires)
        #expect(try tokens(life) == ["1@0", "2@120"])
    }

    @Test func `a transaction that is signed again with another token counts from that signature`() throws {
        var life = Life(token: first)
        _ = life.start()
        life.transactions[0].appAccountToken = second
        _ = life.notify("RENEWAL_EXTENSION", at: epoch + 20 * day)
        life.token = second
        _ = life.renew(at: life.expires)
        #expect(try tokens(life) == ["1@0", "2@20"])
    }

    @Test func `of two tokens in one millisecond the greater is the later`() throws {
        for tokens in [[first, second], [second, first]] {
            var life = Life(token: tokens[0])
            _ = life.start()
            var facts = life.facts
            var twin = try #require(life.tellings[0].transaction)
            twin.appAccountToken = tokens[1]
            twin.tie = [0]
            facts.insert(twin)
            #expect(try #require(PurchaseClaims(of: facts)).tokens.map(\.appUserID) == [first, second])
        }
    }

    @Test func `the token of zeros, a family member's and the renewal info's name no customer`() throws {
        var zeros = Life(token: "00000000-0000-0000-0000-000000000000")
        _ = zeros.start()
        zeros.renewal.appAccountToken = second
        _ = zeros.autoRenewOff(at: epoch + day)
        #expect(try tokens(zeros) == [])
        var family = Life(isFamily: true)
        family.token = first
        _ = family.start()
        #expect(try tokens(family) == [])
    }

    @Test func `of contradictory accounts the one that was signed first counts`() throws {
        var life = Life(account: "8")
        _ = life.start()
        life.account = "7"
        _ = life.renew(at: life.expires)
        let claims = try #require(PurchaseClaims(of: life.facts))
        #expect(claims.account == "8")
        #expect(PurchaseClaims(bytes: claims.bytes) == claims)
        #expect(PurchaseClaims(bytes: claims.bytes + [0]) == nil)
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
