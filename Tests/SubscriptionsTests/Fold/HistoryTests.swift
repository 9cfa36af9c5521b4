import Base
import Subscriptions
import Testing

/// What was asked, decided and moved.
struct HistoryTests {
    private func started() -> Life {
        var life = Life()
        _ = life.start()
        return life
    }

    private func history(_ life: Life) -> PurchaseHistory { PurchaseHistory(of: life.facts) }

    @Test func `decisions on a refund have their kinds and instants`() {
        var life = started()
        _ = life.refundDeclined(at: epoch + day)
        _ = life.refund(at: epoch + 2 * day)
        _ = life.refundReversed(at: epoch + 3 * day)
        _ = life.refund(at: epoch + 4 * day)
        let decisions = history(life).refundDecisions
        #expect(decisions.map(\.kind) == [.declined, .refunded, .reversed, .refunded])
        #expect(decisions.map(\.signed) == (1...4).map { epoch + $0 * day })
        #expect(decisions.map(\.revoked) == [nil, epoch + 2 * day - 2 * second, nil, epoch + 4 * day - 2 * second])
    }

    @Test func `a decision is of the transaction it was made on`() {
        var life = started()
        _ = life.renew(at: life.expires)
        _ = life.refund(0, at: life.latest.purchaseDate + day)
        let history = history(life)
        #expect(history.refundDecisions.filter { $0.transactionID == life.original }.map(\.kind) == [.refunded])
        #expect(history.refundDecisions.allSatisfy { $0.transactionID != life.latest.transactionID })
    }

    @Test func `a refund that only its transaction tells of is known, and so is its reversal`() {
        var life = started()
        _ = life.refund(at: epoch + day)
        _ = life.refundReversed(at: epoch + 2 * day)
        var facts = PurchaseFacts()
        for telling in life.tellings { telling.transaction.map { _ = facts.insert($0) } }
        let decisions = PurchaseHistory(of: facts).refundDecisions
        #expect(decisions.map(\.kind) == [.refunded, .reversed])
    }

    @Test func `decisions that only notifications tell of are known`() {
        var life = started()
        _ = life.notify("REFUND", at: epoch + day)
        _ = life.notify("METADATA_UPDATE", at: epoch + 2 * day)
        _ = life.notify("REFUND_REVERSED", at: epoch + 3 * day)
        #expect(history(life).refundDecisions.map(\.kind) == [.refunded, .reversed])
        #expect(history(life).refundDecisions.map(\.signed) == [epoch + day, epoch + 3 * day])
    }

    @Test func `a refund has its instant also where its transaction is signed after the notification`() throws {
        var life = started()
        var refund = life.refund(at: epoch + day)
        refund.notification.signedDate -= 5
        var facts = PurchaseFacts()
        refund.add(to: &facts)
        let decision = try #require(PurchaseHistory(of: facts).refundDecisions.first)
        #expect(decision.signed == epoch + day - 5)
        #expect(decision.revoked == epoch + day - 2 * second)
        #expect(PurchaseHistory(of: facts).refundDecisions.count == 1)
    }

    @Test func `a corrected revocation is no second decision, and a family share taken away is none`() {
        var life = started()
        _ = life.refund(at: epoch + day)
        _ = life.refund(at: epoch + 2 * day, revoked: epoch + hour)
        #expect(history(life).refundDecisions.count == 1)
        var member = Life(isFamily: true)
        _ = member.start()
        _ = member.familyRevoke(at: epoch + day)
        #expect(history(member).refundDecisions.isEmpty)
    }

    @Test func `a consumption request can be answered for twelve hours`() {
        var life = started()
        _ = life.consumptionRequest(reason: "LEGAL", at: epoch + day)
        let history = history(life)
        #expect(history.consumptionRequests.map(\.first) == [epoch + day])
        #expect(history.openConsumptionDeadline(after: epoch + day) == epoch + day + 12 * hour)
        #expect(history.openConsumptionDeadline(after: epoch + day + 12 * hour - 1) != nil)
        #expect(history.openConsumptionDeadline(after: epoch + day + 12 * hour) == nil)
    }

    @Test func `a repeated consumption request counts and keeps its first deadline`() {
        var life = started()
        _ = life.consumptionRequest(reason: "OTHER", at: epoch + day)
        _ = life.consumptionRequest(reason: "LEGAL", at: epoch + day + hour)
        _ = life.consumptionRequest(reason: "OTHER", at: epoch + day + 2 * hour)
        var facts = life.facts
        // As it was kept before transactions and reasons were.
        var older = life.tellings[1].notification
        older.consumptionRequestReason = nil
        older.tie = []
        facts.insert(older)
        let requests = PurchaseHistory(of: facts).consumptionRequests
        #expect(requests.map(\.repeats) == [2])
        #expect(requests.map(\.reasons) == [["OTHER", "LEGAL"]])
        #expect(requests.map(\.deadline) == [epoch + day + 12 * hour])
    }

    @Test(arguments: [RefundDecision.Kind.refunded, .declined])
    func `a decision closes a consumption request, and the next one is another`(kind: RefundDecision.Kind) {
        var life = started()
        _ = life.consumptionRequest(at: epoch + day)
        _ = kind == .refunded ? life.refund(at: epoch + day + hour) : life.refundDeclined(at: epoch + day + hour)
        #expect(history(life).consumptionRequests.map(\.closed) == [epoch + day + hour])
        #expect(history(life).openConsumptionDeadline(after: epoch + day) == nil)
        _ = life.consumptionRequest(at: epoch + 2 * day)
        #expect(history(life).consumptionRequests.map(\.closed) == [epoch + day + hour, nil])
        #expect(history(life).openConsumptionDeadline(after: epoch + day) == epoch + 2 * day + 12 * hour)
    }

    @Test func `a question after the time to answer is another request, though no decision was told`() {
        var life = started()
        _ = life.consumptionRequest(at: epoch + day)
        _ = life.consumptionRequest(at: epoch + day + 12 * hour - 1)
        _ = life.consumptionRequest(at: epoch + day + 12 * hour)
        #expect(history(life).consumptionRequests.map(\.repeats) == [1, 0])
        #expect(history(life).openConsumptionDeadline(after: epoch + day + 12 * hour) == epoch + day + 24 * hour)
    }

    @Test func `a decision on another transaction closes nothing, and the earliest deadline counts`() {
        var life = started()
        _ = life.renew(at: life.expires)
        let asked = life.latest.purchaseDate + day
        _ = life.consumptionRequest(0, at: asked)
        _ = life.consumptionRequest(1, at: asked + hour)
        #expect(history(life).openConsumptionDeadline(after: asked) == asked + 12 * hour)
        _ = life.refund(0, at: asked + 2 * hour)
        #expect(history(life).openConsumptionDeadline(after: asked) == asked + 13 * hour)
    }

    @Test func `consents have the instants of question and answer`() {
        var life = started()
        _ = life.askConsent(at: epoch + day)
        _ = life.askConsent(at: epoch + 2 * day)
        _ = life.giveConsent(at: epoch + 3 * day)
        _ = life.autoRenewOff(at: epoch + 4 * day)
        #expect(history(life).priceConsents == [consent(epoch + day, epoch + 3 * day)])
        _ = life.renew(at: life.expires)
        let next = life.latest.purchaseDate
        _ = life.giveConsent(at: next + day)
        _ = life.askConsent(at: next + 2 * day)
        #expect(
            history(life).priceConsents == [
                consent(epoch + day, epoch + 3 * day), consent(nil, next + day), consent(next + 2 * day, nil),
            ])
    }

    @Test func `consents are known from notifications and from renewal infos alone`() {
        var life = started()
        _ = life.askConsent(at: epoch + day)
        _ = life.giveConsent(at: epoch + 3 * day)
        var (words, infos) = (PurchaseFacts(), PurchaseFacts())
        for telling in life.tellings {
            words.insert(telling.notification)
            telling.renewal.map { _ = infos.insert($0) }
        }
        for facts in [words, infos] {
            #expect(PurchaseHistory(of: facts).priceConsents == [consent(epoch + day, epoch + 3 * day)])
        }
    }

    private func consent(_ asked: Int64?, _ consented: Int64?) -> PriceConsent {
        PriceConsent(asked: asked, consented: consented)
    }

    @Test func `an extension is from one end to another`() {
        var life = started()
        let end = life.expires
        _ = life.extend(by: day, at: epoch + day)
        _ = life.autoRenewOff(at: epoch + 2 * day)
        _ = life.extend(by: 2 * day, at: epoch + 3 * day)
        let extensions = history(life).extensions
        #expect(extensions.map(\.from) == [end, end + day])
        #expect(extensions.map(\.to) == [end + day, end + 3 * day])
        #expect(extensions.map(\.signed) == [epoch + day, epoch + 3 * day])
        #expect(extensions.map(\.transactionID) == [life.original, life.original])
    }

    @Test func `nothing happened to what nothing is known of`() {
        let history = PurchaseHistory(of: PurchaseFacts())
        #expect(history.refundDecisions.isEmpty && history.consumptionRequests.isEmpty)
        #expect(history.openConsumptionDeadline(after: 0) == nil)
    }
}
