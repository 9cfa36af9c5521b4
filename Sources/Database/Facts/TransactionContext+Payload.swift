import AppStore
import Base
import Subscriptions

extension TransactionContext {
    /// What is kept of it: without the time, so that the same said again is the same.
    package var payload: [UInt8] {
        JSON.object([
            "transactionId": .string(transactionID), "price": price.map { .int($0) },
            "currency": currency.map { .string($0) }, "offering": offering.map { .string($0) },
            "placement": placement.map { .string($0) }, "targetingRevision": targetingRevision.map { .int($0) },
            "targetingRule": targetingRule.map { .string($0) },
        ]).bytes
    }

    init?(payload: [UInt8], at: Int64) {
        guard let kept = KeptContext(payload: payload) else { return nil }
        self.init(
            transactionID: kept.transactionID, price: kept.price, currency: kept.currency, offering: kept.offering,
            placement: kept.placement, targetingRevision: kept.targetingRevision, targetingRule: kept.targetingRule,
            at: at, tie: payload)
    }
}

extension FactRow {
    package init(_ context: TransactionContext) {
        let payload = context.payload
        var kept = context
        kept.tie = payload
        self.init(
            kind: .context, signedDate: context.at, header: nil, signature: nil, payload: payload, fact: .context(kept))
    }
}

/// The members of `TransactionContext.payload`.
private struct KeptContext: WirePayload {
    let transactionID: String
    let price: Int64?
    let currency: String?
    let offering: String?
    let placement: String?
    let targetingRevision: Int64?
    let targetingRule: String?

    init(_ members: Members) throws {
        guard let transactionID = members.text("transactionId") else { throw MissingMember() }
        self.transactionID = transactionID
        (price, currency) = (members.integer("price"), members.text("currency"))
        (offering, placement) = (members.text("offering"), members.text("placement"))
        (targetingRevision, targetingRule) = (members.integer("targetingRevision"), members.text("targetingRule"))
    }

    private struct MissingMember: Error {}
}
