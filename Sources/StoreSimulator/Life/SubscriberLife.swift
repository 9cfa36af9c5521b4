import Base

/// The life of one subscriber as the App Store tells it: one subscription from its first period on, and purchases
/// that do not renew.
///
/// Every method is something that happens; it returns the notification that Apple would send, and keeps it in
/// `notifications`. `at` is when Apple signs it, in milliseconds; it never goes backwards within a life. The same app,
/// seed, number and calls give the same notifications. Calls that need a running subscription require `start` first.
package struct SubscriberLife: Sendable {
    /// Apple's `status` of a subscription.
    package enum Status: Int64, Sendable {
        case active = 1
        case expired, billingRetry, grace, revoked
    }

    /// One of the transactions of this life.
    package enum Purchase: Sendable {
        case latest
        /// A period, counted from 0.
        case period(Int)
        /// A purchase that does not renew, counted from 0.
        case oneTime(Int)
    }

    package let app: StoreApp
    package var account: StoreAccount
    /// What renews next.
    package internal(set) var product: StoreProduct
    package internal(set) var periods: [StoreTransaction] = []
    package internal(set) var oneTimePurchases: [StoreTransaction] = []
    package internal(set) var renewal: StoreRenewal?
    package internal(set) var status = Status.active
    package private(set) var notifications: [StoreNotification] = []

    var identifiers: IdentifierSequence
    private var random: SeededRandom
    private var lastSigned: Int64 = .min

    /// Subscriber `number` of a seed. An app that gives no account tokens has `withToken` false.
    package init(
        app: StoreApp = StoreApp(), seed: UInt64, number: UInt64 = 0, product: StoreProduct = .proMonthly,
        withToken: Bool = true, isFamilyMember: Bool = false
    ) {
        var random = SeededRandom(seed: seed, stream: number)
        let identifiers = IdentifierSequence(seed: seed, life: number, isSandbox: app.isSandbox)
        let country = StoreAccount.countries.randomElement(using: &random) ?? ("USA", "143441", "USD")
        self.app = app
        self.product = product
        account = StoreAccount(
            token: withToken ? random.uuid() : nil, appTransactionID: identifiers.account(),
            storefront: country.storefront, storefrontID: country.id, currency: country.currency,
            isFamilyMember: isFamilyMember)
        self.random = random
        self.identifiers = identifiers
    }

    /// When the running period ends.
    package var expires: Int64 { latest.expires ?? latest.purchased }

    /// The running or last period.
    package var latest: StoreTransaction {
        guard let last = periods.last else { preconditionFailure("the subscription was not started") }
        return last
    }

    /// What renews, and how.
    var running: StoreRenewal {
        get {
            guard let renewal else { preconditionFailure("the subscription was not started") }
            return renewal
        }
        set { renewal = newValue }
    }

    package func transaction(_ purchase: Purchase) -> StoreTransaction {
        switch purchase {
        case .latest: latest
        case .period(let index): periods[index]
        case .oneTime(let index): oneTimePurchases[index]
        }
    }

    mutating func change(_ purchase: Purchase, _ body: (inout StoreTransaction) -> Void) {
        switch purchase {
        case .latest: body(&periods[periods.count - 1])
        case .period(let index): body(&periods[index])
        case .oneTime(let index): body(&oneTimePurchases[index])
        }
    }

    /// Tells the present state under this type; for types that say nothing of their own too.
    @discardableResult
    package mutating func notify(
        _ type: String, _ subtype: String? = nil, about purchase: Purchase = .latest, consumptionReason: String? = nil,
        at: Int64
    ) -> StoreNotification {
        lastSigned = lastSigned == .min ? at : max(lastSigned &+ 1, at)
        let transaction = transaction(purchase)
        let isSubscription = transaction.kind == .subscription
        var fields = app.members()
        fields.text("bundleVersion", app.bundleVersion)
        fields.text("consumptionRequestReason", consumptionReason)
        let made = StoreNotification(
            type: type, subtype: subtype, uuid: random.uuid(), signedDate: lastSigned,
            content: .data(
                fields.members, transaction: transaction.payload(signedDate: lastSigned),
                renewal: isSubscription
                    ? running.payload(account: account, environment: app.environment, signedDate: lastSigned) : nil,
                status: isSubscription ? status.rawValue : nil))
        notifications.append(made)
        return made
    }
}
