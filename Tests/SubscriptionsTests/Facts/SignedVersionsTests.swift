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

    @Test func `of a thousand signatures of the same content the first and the last count`() {
        var facts = PurchaseFacts()
        for signed in (1...1000).shuffled() { facts.insert(transaction(Int64(signed))) }
        #expect(facts.transactions.map(\.signedDate).sorted() == [epoch + 1, epoch + 1000])
        #expect(facts.transactions.contents.map(\.again.count) == [63])
    }

    @Test func `switching off and on a thousand times keeps few signatures, and the last one counts`() {
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
        #expect(facts.renewals.contents.allSatisfy { $0.again.count <= 64 })
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
        let row = FactID(prefix: 7, base: epoch + 10)
        var facts = PurchaseFacts()
        var first = transaction(10)
        first.id = row
        #expect(facts.addition(of: first) == .news)
        facts.insert(first)
        #expect(facts.addition(of: transaction(20)) == .signature(of: row))
        #expect(facts.addition(of: transaction(5)) == .signature(of: row))
        var second = transaction(20)
        second.id = row
        facts.insert(second)
        #expect(facts.addition(of: transaction(20)) == .nothing)
        #expect(facts.addition(of: transaction(15)) == .signature(of: row))
        facts.insert(transaction(25, revoked: 24))
        // Said again after something else was said: that is news.
        #expect(facts.addition(of: transaction(30)) == .news)
        #expect(facts.addition(of: transaction(22)) == .signature(of: row))
        #expect(facts.addition(of: transaction(10, id: "2")) == .news)
    }

    @Test func `a signature of what holds already moves nothing`() throws {
        var (facts, dates): (PurchaseFacts, [Int64]) = (PurchaseFacts(), [])
        func token(_ signed: Int64, _ token: String) -> TransactionFact {
            var fact = transaction(signed)
            fact.appAccountToken = token
            return fact
        }
        for signed in [1, 2, 3, 20, 21, 30] as [Int64] {
            facts.insert(token(signed, "11111111-1111-4111-8111-111111111111"))
        }
        facts.insert(token(10, "22222222-2222-4222-8222-222222222222"))
        for signed in [40, 50] as [Int64] {
            facts.insert(token(signed, "11111111-1111-4111-8111-111111111111"))
            dates.append(try #require(PurchaseClaims(of: facts)?.tokens.last?.at))
        }
        #expect(dates == [epoch + 20, epoch + 20])
    }

    @Test func `a row stands for no signatures on both sides of something else`() {
        var facts = PurchaseFacts()
        func insert(_ fact: TransactionFact, _ base: Int64) {
            var fact = fact
            fact.id = FactID(prefix: UInt64(base), base: epoch + base)
            facts.insert(fact)
        }
        for signed in [1, 2, 3, 200] as [Int64] { insert(transaction(signed), 1) }
        insert(transaction(100, revoked: 99), 100)
        // What was said last is of the row of 1, before something else was said.
        #expect(facts.addition(of: transaction(201)) == .news)
        insert(transaction(201), 201)
        #expect(facts.addition(of: transaction(202)) == .signature(of: FactID(prefix: 201, base: epoch + 201)))
        #expect(facts.addition(of: transaction(4)) == .signature(of: FactID(prefix: 1, base: epoch + 1)))
    }

    /// Whatever a member says of each content: since when it has said what it says last, is what all signatures say.
    @Test func `since when something holds is the same by all signatures and by those that count`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            let contents = Int.random(in: 2...5, using: &random)
            var signed: [Int64: Int] = [:]
            for _ in 0..<Int.random(in: 3...60, using: &random) {
                let (at, content) = (
                    Int64.random(in: 1...80, using: &random), Int.random(in: 0..<contents, using: &random)
                )
                for date in at...at + Int64.random(in: 0...4, using: &random) where signed[date] == nil {
                    signed[date] = content
                }
            }
            var (facts, kept) = (PurchaseFacts(), PurchaseFacts())
            for (date, content) in signed.shuffled() {
                let fact = transaction(date, revoked: Int64(content))
                facts.insert(fact)
                kept.insert(fact)
                if Bool.random(using: &random), let bytes = kept.bytes, let read = PurchaseFacts(bytes: bytes) {
                    kept = read
                }
            }
            #expect(kept == facts)
            for mask in 1..<(1 << contents) {
                func beginning(_ list: [(date: Int64, content: Int)]) -> Int64? {
                    let list = list.sorted { $0.date < $1.date }
                    guard let last = list.last else { return nil }
                    let value = mask >> last.content & 1
                    return list.reversed().prefix { mask >> $0.content & 1 == value }.last?.date
                }
                let all = signed.map { (date: epoch + $0.key, content: $0.value) }
                let counting = kept.transactions.map { fact in
                    (date: fact.signedDate, content: Int((fact.revocationDate ?? epoch) - epoch))
                }
                #expect(beginning(counting) == beginning(all))
            }
        }
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
