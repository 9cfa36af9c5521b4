import Base
import Testing

@testable import Subscriptions

/// The same content, signed again and again.
@Suite struct SignedVersionsTests {
    private let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")

    private func transaction(_ signed: Int64, revoked: Int64? = nil, id: String = "1", tie: String = "")
        -> TransactionFact
    {
        TransactionFact(
            transactionID: id, originalTransactionID: "1", productID: "pro", purchaseDate: epoch,
            originalPurchaseDate: epoch, expiresDate: epoch + 30 * day, signedDate: epoch + signed,
            kind: TransactionFact.autoRenewable, price: 9990, currency: "EUR",
            revocationDate: revoked.map { epoch + $0 },
            tie: Array(tie.utf8))
    }

    private func renewal(_ signed: Int64, status: Int) -> RenewalFact {
        RenewalFact(
            originalTransactionID: "1", productID: "pro", autoRenewProductID: "pro", autoRenewStatus: status,
            signedDate: epoch + signed, tie: [])
    }

    @Test func `a content that was signed again after another one holds, in any order`() {
        let facts = [transaction(1), transaction(3, revoked: 2), transaction(5)]
        for order in SignedVersionsTests.orders(facts) {
            var known = PurchaseFacts()
            for fact in order { known.insert(fact) }
            let purchase = Purchase(folding: known, key: key)
            #expect(purchase?.latest.revocation == nil)
            #expect(purchase?.latest.firstSigned == epoch + 1)
            #expect(known.transactions.count == 3)
        }
    }

    @Test func `of a thousand signatures of the same content the first, the next and the last count`() {
        var facts = PurchaseFacts()
        for signed in (1...1000).shuffled() { facts.insert(transaction(Int64(signed))) }
        #expect(facts.transactions.map(\.signedDate).sorted() == [epoch + 1, epoch + 2, epoch + 1000])
        #expect(facts.transactions.contents.map(\.again.count) == [63])
    }

    @Test func `switching off and on a thousand times keeps four signatures, and the last one counts`() {
        var facts = PurchaseFacts()
        facts.insert(transaction(1))
        for signed in (2...2001).shuffled() { facts.insert(renewal(Int64(signed), status: signed % 2)) }
        for signed in stride(from: 2, through: 2000, by: 2) {
            facts.insert(
                NotificationFact(
                    uuid: "n\(signed)", type: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED", status: 1,
                    signedDate: epoch + Int64(signed)))
        }
        #expect(facts.renewals.count <= 6)
        #expect(facts.notifications.count == 1)
        #expect(facts.renewals.contents.allSatisfy { $0.again.count <= 1 })
        #expect(Purchase(folding: facts, key: key)?.autoRenew == .on)
        facts.insert(renewal(2010, status: 0))
        facts.insert(
            NotificationFact(
                uuid: "last", type: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED", status: 1,
                signedDate: epoch + 2010))
        // Signed once more since: that does not move when it was switched off.
        facts.insert(renewal(2050, status: 0))
        #expect(Purchase(folding: facts, key: key)?.autoRenew == .off(since: epoch + 2010))
    }

    @Test func `what a fact adds: news, another signature, nothing`() {
        var facts = PurchaseFacts()
        var first = transaction(10)
        first.id = FactID(prefix: 7)
        #expect(facts.addition(of: first) == .news)
        facts.insert(first)
        #expect(facts.addition(of: transaction(20)) == .signature(of: FactID(prefix: 7)))
        #expect(facts.addition(of: transaction(5)) == .signature(of: FactID(prefix: 7)))
        var second = transaction(20)
        second.id = FactID(prefix: 7)
        facts.insert(second)
        #expect(facts.addition(of: transaction(20)) == .nothing)
        #expect(facts.addition(of: transaction(15)) == .signature(of: FactID(prefix: 7)))
        facts.insert(transaction(25, revoked: 24))
        // Said again after something else was said: that is news.
        #expect(facts.addition(of: transaction(30)) == .news)
        #expect(facts.addition(of: transaction(22)) == .signature(of: FactID(prefix: 7)))
        #expect(facts.addition(of: transaction(10, id: "2")) == .news)
    }

    @Test func `of two contents of one millisecond the greater bytes win, and both are kept`() throws {
        let rivals = [transaction(10, tie: "a"), transaction(10, revoked: 9, tie: "b")]
        for order in SignedVersionsTests.orders(rivals) {
            var facts = PurchaseFacts()
            for fact in order { facts.insert(fact) }
            let bytes = try #require(facts.bytes)
            let again = try #require(PurchaseFacts(bytes: bytes))
            for facts in [facts, again] {
                #expect(Purchase(folding: facts, key: key)?.latest.revocation != nil)
            }
            #expect(again == facts)
        }
    }

    @Test func `bytes of another form are refused, and nothing traps on damaged ones`() throws {
        var facts = PurchaseFacts()
        facts.insert(transaction(1))
        facts.insert(renewal(2, status: 0))
        let bytes = try #require(facts.bytes)
        for length in 0..<bytes.count { #expect(PurchaseFacts(bytes: Array(bytes.prefix(length))) == nil) }
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= 0x55
            _ = PurchaseFacts(bytes: damaged)
        }
    }

    private static func orders<Element>(_ list: [Element]) -> [[Element]] {
        guard list.count > 1 else { return [list] }
        return list.indices.flatMap { place in
            var rest = list
            let first = rest.remove(at: place)
            return orders(rest).map { [first] + $0 }
        }
    }
}
