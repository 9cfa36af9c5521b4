/// Writes facts member by member; a text that comes again is written once.
struct FactWriter {
    var writer = ByteWriter()
    private(set) var texts: [String] = []
    private var places: [String: Int64] = [:]
    /// Instants are near to the one that was written last.
    private var last: Int64 = 0

    mutating func write(_ text: String?) {
        guard let text else { return writer.write(Int64(0)) }
        if let place = places[text] { return writer.write(place) }
        texts.append(text)
        places[text] = Int64(texts.count)
        writer.write(Int64(texts.count))
    }

    mutating func write(instant: Int64) {
        writer.write(instant.subtractingReportingOverflow(last).partialValue)
        last = instant
    }

    mutating func write(instant: Int64?) {
        writer.write(instant != nil)
        if let instant { write(instant: instant) }
    }

    mutating func write(_ number: Int?) { writer.write(number.map(Int64.init)) }

    /// The signatures of one content.
    mutating func write<Fact: VersionedFact>(
        _ content: SignedVersions<Fact>.Content, isContested: (Fact) -> Bool
    ) {
        let all = [content.first] + (content.last.map { [$0] } ?? [])
        writer.write(Int64(content.again.count))
        writer.write(content.last != nil)
        for fact in all {
            write(instant: fact.signedDate)
            writer.write(Int64(bitPattern: fact.id.prefix))
            write(instant: fact.id.base)
            writer.write(isContested(fact) ? fact.tie : [])
        }
        for date in content.again { write(instant: date) }
    }

    mutating func write(_ fact: TransactionFact) {
        write(fact.transactionID)
        write(fact.originalTransactionID)
        write(fact.webOrderLineItemID)
        write(fact.productID)
        write(fact.subscriptionGroup)
        write(instant: fact.purchaseDate)
        write(instant: fact.originalPurchaseDate)
        write(instant: fact.expiresDate)
        write(fact.kind)
        write(fact.ownership)
        write(fact.reason)
        write(fact.offerType)
        write(fact.offerIdentifier)
        write(fact.offerDiscountType)
        writer.write(fact.price)
        write(fact.currency)
        write(instant: fact.revocationDate)
        write(fact.revocationReason)
        write(fact.revocationType)
        write(fact.revocationPercentage)
        writer.write(fact.isUpgraded)
        write(fact.storefront)
        writer.write(Int64(fact.quantity))
        write(fact.appAccountToken)
        write(fact.appTransactionID)
        write(fact.previousOriginalTransactionID)
        write(fact.others)
        write(fact.billingPlan)
        writer.write(fact.commitment != nil)
        guard let commitment = fact.commitment else { return }
        writer.write(commitment.billingPeriod)
        writer.write(commitment.billingPeriods)
        writer.write(commitment.expiresDate)
        writer.write(commitment.price)
    }

    mutating func write(_ fact: RenewalFact) {
        write(fact.originalTransactionID)
        write(fact.productID)
        write(fact.autoRenewProductID)
        write(fact.autoRenewStatus)
        write(fact.expirationIntent)
        write(fact.isInBillingRetryPeriod.map { $0 ? 1 : 0 })
        write(instant: fact.gracePeriodExpiresDate)
        write(fact.priceIncreaseStatus)
        writer.write(fact.renewalPrice)
        write(fact.currency)
        write(instant: fact.renewalDate)
        write(instant: fact.recentSubscriptionStartDate)
        write(fact.offerType)
        write(fact.offerIdentifier)
        write(fact.offerDiscountType)
        write(fact.appAccountToken)
        write(fact.appTransactionID)
        write(fact.others)
        write(fact.billingPlan)
        writer.write(fact.commitment != nil)
        guard let commitment = fact.commitment else { return }
        write(commitment.autoRenewStatus)
        write(commitment.autoRenewProductID)
        write(commitment.billingPlan)
        writer.write(commitment.renewalDate)
        writer.write(commitment.renewalPrice)
    }

    mutating func write(_ fact: NotificationFact) {
        write(fact.uuid)
        write(fact.type)
        write(fact.subtype)
        write(fact.status)
        write(fact.transactionID)
        write(fact.consumptionRequestReason)
        write(instant: fact.signedDate)
        writer.write(fact.tie)
    }

    mutating func write(_ context: TransactionContext) {
        write(context.transactionID)
        writer.write(context.price)
        write(context.currency)
        write(context.offering)
        write(context.placement)
        writer.write(context.targetingRevision)
        write(context.targetingRule)
        write(instant: context.at)
        writer.write(context.tie)
    }
}
