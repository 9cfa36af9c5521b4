import Base
import Subscriptions

/// The life of one subscriber as Apple would sign it. Every method is something that happens, returns the notification
/// about it, and keeps it in `tellings`. `at` is the instant of signing, in ms; it never goes backwards.
struct Life {
    enum Offer: CaseIterable, Sendable { case trial, intro, promotional, code, winBack, paidCode }

    let original: String
    var product: String
    var price: Int64
    var currency = "USD"
    var token: String?
    var account: String?
    var isFamily: Bool
    var period = 30 * day
    var transactions: [TransactionFact] = []
    var renewal: RenewalFact
    var status = 1
    var tellings: [Telling] = []
    private var lastSigned: Int64 = 0

    init(
        _ original: String = "1000", product: String = "pro_monthly", price: Int64 = 9990,
        token: String? = "11111111-2222-4333-8444-555555555555", account: String? = "7047", isFamily: Bool = false
    ) {
        self.original = original
        self.product = product
        self.price = price
        self.token = isFamily ? nil : token
        self.account = account
        self.isFamily = isFamily
        renewal = RenewalFact(originalTransactionID: original, signedDate: 0, tie: [])
    }

    var key: PurchaseKey {
        PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: original)
    }
    var latest: TransactionFact { transactions[transactions.count - 1] }
    var expires: Int64 { latest.expiresDate ?? 0 }

    var facts: PurchaseFacts {
        tellings.reduce(into: PurchaseFacts()) { $1.add(to: &$0) }
    }

    func purchase(defaultGrace: Int64 = 0) -> Purchase? {
        Purchase(folding: facts, key: key, foldSettings: FoldSettings(defaultGrace: .milliseconds(defaultGrace)))
    }

    // MARK: - Parts

    mutating func notify(
        _ type: String, _ subtype: String? = nil, at: Int64, about place: Int? = nil, hasRenewal: Bool = true
    ) -> Telling {
        lastSigned = max(lastSigned + 1, at)
        var transaction = transactions[place ?? transactions.count - 1]
        transaction.signedDate = lastSigned
        transaction.tie = Array("t\(lastSigned)".utf8)
        var next = renewal
        next.signedDate = lastSigned
        next.tie = Array("r\(lastSigned)".utf8)
        let uuid = "uuid-\(original)-\(tellings.count)"
        let telling = Telling(
            notification: NotificationFact(
                uuid: uuid, type: type, subtype: subtype, status: hasRenewal ? status : nil,
                transactionID: transaction.transactionID, signedDate: lastSigned),
            transaction: transaction, renewal: hasRenewal ? next : nil)
        tellings.append(telling)
        return telling
    }

    /// A notification about no purchase, or about one of which nothing is told.
    mutating func notifyAlone(_ type: String, _ subtype: String? = nil, at: Int64) -> Telling {
        lastSigned = max(lastSigned + 1, at)
        let telling = Telling(
            notification: NotificationFact(
                uuid: "uuid-\(original)-\(tellings.count)", type: type, subtype: subtype, signedDate: lastSigned))
        tellings.append(telling)
        return telling
    }

    mutating func addPeriod(from: Int64, to: Int64, reason: String = "PURCHASE", offer: Offer? = nil) {
        let number = transactions.isEmpty ? original : "\(original)-\(transactions.count + 1)"
        var transaction = TransactionFact(
            transactionID: number, originalTransactionID: original, webOrderLineItemID: "w\(number)",
            productID: product, subscriptionGroup: "g1", purchaseDate: from,
            originalPurchaseDate: transactions.first?.purchaseDate ?? from, expiresDate: to, signedDate: 0,
            kind: "Auto-Renewable Subscription", ownership: isFamily ? "FAMILY_SHARED" : "PURCHASED", reason: reason,
            price: isFamily ? nil : price, currency: isFamily ? nil : currency, storefront: "USA",
            appAccountToken: token, appTransactionID: account, tie: [])
        offer.map { Self.apply($0, to: &transaction) }
        transactions.append(transaction)
        renewal = RenewalFact(
            originalTransactionID: original, productID: product, autoRenewProductID: product, autoRenewStatus: 1,
            renewalPrice: price, currency: currency, renewalDate: to,
            recentSubscriptionStartDate: renewal.recentSubscriptionStartDate ?? from, appAccountToken: token,
            appTransactionID: account, signedDate: 0, tie: [])
        status = 1
    }

    static func apply(_ offer: Offer, to transaction: inout TransactionFact) {
        let terms: (Int, String, String?) =
            switch offer {
            case .trial: (1, "FREE_TRIAL", nil)
            case .intro: (1, "PAY_AS_YOU_GO", nil)
            case .promotional: (2, "PAY_UP_FRONT", "spring")
            case .code: (3, "FREE_TRIAL", "CODE_2026")
            case .paidCode: (3, "PAY_UP_FRONT", "CODE_2026")
            case .winBack: (4, "PAY_AS_YOU_GO", "comeback")
            }
        (transaction.offerType, transaction.offerDiscountType, transaction.offerIdentifier) = terms
        if terms.1 == "FREE_TRIAL" { transaction.price = 0 }
    }

    // MARK: - Purchases and renewals

    mutating func start(began: Int64 = epoch, lasts: Int64? = nil, offer: Offer? = nil, at: Int64? = nil) -> Telling {
        addPeriod(from: began, to: began + (lasts ?? period), offer: offer)
        return notify("SUBSCRIBED", "INITIAL_BUY", at: at ?? began + 5 * second)
    }

    mutating func renew(
        at: Int64, recovery: Bool = false, begins: Int64? = nil, lasts: Int64? = nil, offer: Offer? = nil
    ) -> Telling {
        product = renewal.autoRenewProductID ?? product
        let begins = begins ?? expires
        addPeriod(from: begins, to: begins + (lasts ?? period), reason: "RENEWAL", offer: offer)
        return notify("DID_RENEW", recovery ? "BILLING_RECOVERY" : nil, at: at)
    }

    mutating func resubscribe(product: String? = nil, at: Int64, offer: Offer? = nil) -> Telling {
        self.product = product ?? self.product
        renewal.recentSubscriptionStartDate = nil
        addPeriod(from: at, to: at + period, offer: offer)
        return notify("SUBSCRIBED", "RESUBSCRIBE", at: at)
    }

    mutating func buyOnce(
        _ product: String, kind: String = "Consumable", price: Int64 = 1990, quantity: Int = 1, at: Int64
    ) -> Telling {
        transactions.append(
            TransactionFact(
                transactionID: original, originalTransactionID: original, productID: product, purchaseDate: at,
                originalPurchaseDate: at, signedDate: 0, kind: kind,
                ownership: isFamily ? "FAMILY_SHARED" : "PURCHASED", price: isFamily ? nil : price,
                currency: isFamily ? nil : currency, storefront: "USA", quantity: quantity, appAccountToken: token,
                appTransactionID: account, tie: []))
        return notify("ONE_TIME_CHARGE", at: at, hasRenewal: false)
    }

    // MARK: - The customer's choices

    mutating func autoRenewOff(at: Int64) -> Telling {
        renewal.autoRenewStatus = 0
        return notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", at: at)
    }

    mutating func autoRenewOn(at: Int64) -> Telling {
        renewal.autoRenewStatus = 1
        return notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", at: at)
    }

    mutating func upgrade(to product: String, price: Int64, at: Int64, lasts: Int64? = nil) -> Telling {
        transactions[transactions.count - 1].isUpgraded = true
        (self.product, self.price) = (product, price)
        addPeriod(from: at, to: at + (lasts ?? period))
        return notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", at: at)
    }

    mutating func downgrade(to product: String, price: Int64, at: Int64) -> Telling {
        self.price = price
        renewal.autoRenewProductID = product
        return notify("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", at: at)
    }

    mutating func keepPlan(at: Int64) -> Telling {
        renewal.autoRenewProductID = latest.productID
        return notify("DID_CHANGE_RENEWAL_PREF", at: at)
    }

    mutating func askConsent(at: Int64) -> Telling {
        renewal.priceIncreaseStatus = 0
        return notify("PRICE_INCREASE", "PENDING", at: at)
    }

    mutating func giveConsent(at: Int64) -> Telling {
        renewal.priceIncreaseStatus = 1
        return notify("PRICE_INCREASE", "ACCEPTED", at: at)
    }

    // MARK: - Money that does not come, and money that goes back

    mutating func billingFailure(graceUntil: Int64? = nil, at: Int64) -> Telling {
        status = graceUntil == nil ? 3 : 4
        renewal.isInBillingRetryPeriod = true
        renewal.expirationIntent = 2
        renewal.gracePeriodExpiresDate = graceUntil
        return notify("DID_FAIL_TO_RENEW", graceUntil == nil ? nil : "GRACE_PERIOD", at: at)
    }

    mutating func graceOver(at: Int64) -> Telling {
        status = 3
        return notify("GRACE_PERIOD_EXPIRED", at: at)
    }

    mutating func expire(_ why: String? = "VOLUNTARY", at: Int64) -> Telling {
        let intents = ["VOLUNTARY": 1, "BILLING_RETRY": 2, "PRICE_INCREASE": 3, "PRODUCT_NOT_FOR_SALE": 4]
        status = 2
        renewal.autoRenewStatus = 0
        renewal.isInBillingRetryPeriod = false
        renewal.expirationIntent = why.flatMap { intents[$0] } ?? 5
        renewal.gracePeriodExpiresDate = nil
        return notify("EXPIRED", why, at: at)
    }

    /// - Parameter share: thousandths of a per cent, where not all of it goes back.
    mutating func refund(_ place: Int? = nil, at: Int64, revoked: Int64? = nil, share: Int? = nil) -> Telling {
        let place = place ?? transactions.count - 1
        takeBack(place, share == nil ? "REFUND_FULL" : "REFUND_PRORATED", revoked ?? at - 2 * second)
        transactions[place].revocationPercentage = share
        return notify("REFUND", at: at, about: place, hasRenewal: latest.expiresDate != nil)
    }

    mutating func refundReversed(_ place: Int? = nil, at: Int64) -> Telling {
        let place = place ?? transactions.count - 1
        transactions[place].revocationDate = nil
        transactions[place].revocationReason = nil
        transactions[place].revocationType = nil
        transactions[place].revocationPercentage = nil
        return notify("REFUND_REVERSED", at: at, about: place, hasRenewal: latest.expiresDate != nil)
    }

    mutating func familyRevoke(at: Int64) -> Telling {
        takeBack(transactions.count - 1, "FAMILY_REVOKE", at - 2 * second)
        return notify("REVOKE", at: at, hasRenewal: latest.expiresDate != nil)
    }

    private mutating func takeBack(_ place: Int, _ type: String, _ date: Int64) {
        transactions[place].revocationDate = date
        transactions[place].revocationReason = 0
        transactions[place].revocationType = type
        if place == transactions.count - 1 { status = 5 }
    }

    mutating func refundDeclined(_ place: Int? = nil, at: Int64) -> Telling {
        notify("REFUND_DECLINED", at: at, about: place, hasRenewal: latest.expiresDate != nil)
    }

    mutating func consumptionRequest(_ place: Int? = nil, reason: String? = nil, at: Int64) -> Telling {
        var telling = notify("CONSUMPTION_REQUEST", at: at, about: place, hasRenewal: latest.expiresDate != nil)
        telling.notification.consumptionRequestReason = reason
        tellings[tellings.count - 1] = telling
        return telling
    }

    /// What an app posts: a transaction as it is signed now, without anything beside it.
    mutating func post(_ place: Int? = nil, at: Int64) -> Telling {
        var telling = notify("TRANSACTION", at: at, about: place, hasRenewal: false)
        telling.isPosted = true
        tellings[tellings.count - 1] = telling
        return telling
    }

    mutating func extend(by milliseconds: Int64, at: Int64) -> Telling {
        transactions[transactions.count - 1].expiresDate = expires + milliseconds
        renewal.renewalDate = expires
        return notify("RENEWAL_EXTENDED", at: at)
    }
}
