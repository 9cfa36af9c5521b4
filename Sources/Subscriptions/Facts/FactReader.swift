/// Reads what `FactWriter` wrote. What cannot be read makes everything after it nil.
struct FactReader {
    private var reader: ByteReader
    private let texts: [String]
    private var last: Int64 = 0
    private var isBroken = false

    init(_ bytes: [UInt8], _ texts: [String]) {
        reader = ByteReader(bytes)
        self.texts = texts
    }

    var isAtEnd: Bool { !isBroken && reader.isAtEnd }

    mutating func bytes() -> [UInt8]? { reader.bytes() }

    /// So many values as stand before them.
    mutating func list<Value>(_ read: (inout FactReader) -> Value?) -> Int? {
        guard let count = reader.integer(), count >= 0 else { return nil }
        for _ in 0..<count where read(&self) == nil || isBroken { return nil }
        return Int(count)
    }

    private mutating func broken<Value>(_ value: Value) -> Value {
        isBroken = true
        return value
    }

    private mutating func integer() -> Int64 { reader.integer() ?? broken(0) }
    private mutating func flag() -> Bool { reader.bool() ?? broken(false) }
    private mutating func optionalInteger() -> Int64? { reader.optionalInteger() ?? broken(nil) }
    private mutating func number() -> Int? { optionalInteger().map { Int(clamping: $0) } }

    private mutating func text() -> String {
        let place = integer()
        guard place > 0, place <= texts.count else { return broken("") }
        return texts[Int(place) - 1]
    }

    private mutating func optionalText() -> String? {
        let place = integer()
        guard place != 0 else { return nil }
        guard place > 0, place <= texts.count else { return broken(nil) }
        return texts[Int(place) - 1]
    }

    private mutating func instant() -> Int64 {
        last = last.addingReportingOverflow(integer()).partialValue
        return last
    }

    private mutating func optionalInstant() -> Int64? { flag() ? instant() : nil }

    /// A content, and when it was signed.
    struct Signatures<Fact> {
        let first: Fact
        let last: Fact?
        let again: [Int64]
    }

    private mutating func signatures<Fact: VersionedFact>(of content: Fact) -> Signatures<Fact>? {
        let others = integer()
        // Each takes a byte at least.
        guard others >= 0, others <= reader.count else { return nil }
        let isSignedAgain = flag()
        let first = signature(of: content)
        let last = isSignedAgain ? signature(of: content) : nil
        var again: [Int64] = []
        again.reserveCapacity(Int(others))
        for _ in 0..<others where !isBroken { again.append(instant()) }
        return isBroken ? nil : Signatures(first: first, last: last, again: again)
    }

    private mutating func signature<Fact: VersionedFact>(of content: Fact) -> Fact {
        var fact = content
        fact.signedDate = instant()
        fact.id = FactID(prefix: UInt64(bitPattern: integer()), base: instant())
        fact.tie = reader.bytes() ?? broken([])
        return fact
    }

    mutating func transaction() -> Signatures<TransactionFact>? {
        let (id, original, line, product) = (text(), text(), optionalText(), text())
        let (group, purchased, first, expires) = (optionalText(), instant(), instant(), optionalInstant())
        let (kind, ownership, reason) = (text(), text(), text())
        let (offerType, offer, discount) = (number(), optionalText(), optionalText())
        let (price, currency) = (optionalInteger(), optionalText())
        let (revoked, revocationReason) = (optionalInstant(), number())
        let (revocationType, percentage, isUpgraded) = (optionalText(), number(), flag())
        let (storefront, quantity, token, account) = (optionalText(), integer(), optionalText(), optionalText())
        var fact = TransactionFact(
            transactionID: id, originalTransactionID: original, webOrderLineItemID: line, productID: product,
            subscriptionGroup: group, purchaseDate: purchased, originalPurchaseDate: first, expiresDate: expires,
            signedDate: 0, kind: kind, ownership: ownership, reason: reason, offerType: offerType,
            offerIdentifier: offer, offerDiscountType: discount, price: price, currency: currency,
            revocationDate: revoked, revocationReason: revocationReason, revocationType: revocationType,
            revocationPercentage: percentage, isUpgraded: isUpgraded, storefront: storefront,
            quantity: Int(clamping: quantity), appAccountToken: token, appTransactionID: account, tie: [])
        fact.previousOriginalTransactionID = optionalText()
        fact.others = optionalText()
        fact.billingPlan = optionalText()
        if flag() {
            fact.commitment = TransactionFact.Commitment(
                billingPeriod: optionalInteger(), billingPeriods: optionalInteger(), expiresDate: optionalInteger(),
                price: optionalInteger())
        }
        return signatures(of: fact)
    }

    mutating func renewal() -> Signatures<RenewalFact>? {
        let (original, product, next, status) = (text(), optionalText(), optionalText(), number())
        let (intent, retry, grace, consent) = (number(), number(), optionalInstant(), number())
        let (price, currency, renewal, start) = (
            optionalInteger(), optionalText(), optionalInstant(), optionalInstant()
        )
        let (offerType, offer, discount) = (number(), optionalText(), optionalText())
        var fact = RenewalFact(
            originalTransactionID: original, productID: product, autoRenewProductID: next, autoRenewStatus: status,
            expirationIntent: intent, isInBillingRetryPeriod: retry.map { $0 == 1 }, gracePeriodExpiresDate: grace,
            priceIncreaseStatus: consent, renewalPrice: price, currency: currency, renewalDate: renewal,
            recentSubscriptionStartDate: start, offerType: offerType, offerIdentifier: offer,
            offerDiscountType: discount, appAccountToken: optionalText(), appTransactionID: optionalText(),
            signedDate: 0, tie: [])
        fact.others = optionalText()
        fact.billingPlan = optionalText()
        if flag() {
            fact.commitment = RenewalFact.Commitment(
                autoRenewStatus: number(), autoRenewProductID: optionalText(), billingPlan: optionalText(),
                renewalDate: optionalInteger(), renewalPrice: optionalInteger())
        }
        return signatures(of: fact)
    }

    mutating func notification() -> NotificationFact? {
        let fact = NotificationFact(
            uuid: text(), type: text(), subtype: optionalText(), status: number(), transactionID: optionalText(),
            consumptionRequestReason: optionalText(), signedDate: instant(), tie: reader.bytes() ?? broken([]))
        return isBroken ? nil : fact
    }

    mutating func context() -> TransactionContext? {
        let context = TransactionContext(
            transactionID: text(), price: optionalInteger(), currency: optionalText(), offering: optionalText(),
            placement: optionalText(), targetingRevision: optionalInteger(), targetingRule: optionalText(),
            at: instant(), tie: reader.bytes() ?? broken([]))
        return isBroken ? nil : context
    }
}
