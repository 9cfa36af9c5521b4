import Base

/// What the store knows of its customers: everything that its notifications have told so far, and what sellers changed.
struct StoreLedger {
    private let app: StoreApp
    private(set) var transactions: [String: LedgerTransaction] = [:]
    private(set) var subscriptions: [String: LedgerSubscription] = [:]
    /// Transaction ids by app transaction id, in the order of their first mention.
    private var purchases: [String: [String]] = [:]

    init(app: StoreApp) {
        self.app = app
    }

    /// App transaction ids, in order.
    var customers: [String] { purchases.keys.sorted() }

    func purchases(of customer: String) -> [LedgerTransaction] {
        (purchases[customer] ?? []).compactMap { transactions[$0] }
    }

    // MARK: - Telling

    /// Takes what a notification says. Those of a customer come in the order of their dates.
    mutating func take(_ notification: StoreNotification) {
        guard case .data(_, let transaction?, let renewal, let status) = notification.content,
            let entry = LedgerTransaction(transaction, modified: notification.signedDate)
        else { return }
        if notification.subtype == "UPGRADE", let before = subscriptions[entry.originalID]?.latest, before != entry.id {
            transactions[before]?.change("isUpgraded", .bool(true), at: notification.signedDate &- 1)
        }
        if transactions.updateValue(entry, forKey: entry.id) == nil {
            purchases[entry.customer, default: []].append(entry.id)
        }
        guard let renewal, let status else { return }
        take(renewal, status, entry)
    }

    private mutating func take(_ renewal: JSON, _ status: Int64, _ entry: LedgerTransaction) {
        var known =
            subscriptions[entry.originalID]
            ?? LedgerSubscription(
                originalID: entry.originalID, status: status, renewal: PayloadMembers(), latest: entry.id)
        let latest = transactions[known.latest]
        if entry.purchased >= latest?.purchased ?? .min { known.latest = entry.id }
        known.status = status
        known.renewal = PayloadMembers(renewal)
        subscriptions[entry.originalID] = known
    }

    // MARK: - Looking up

    /// The customer of any transaction id, original transaction id or app transaction id.
    func customer(of id: String) throws(StoreRejection) -> String {
        guard (1...32).contains(id.utf8.count), id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw StoreRejection(4_000_006)
        }
        if let known = transactions[id]?.customer { return known }
        guard purchases[id] != nil else { throw StoreRejection(4_040_010) }
        return id
    }

    func subscriptions(of customer: String) -> [LedgerSubscription] {
        var seen: Set<String> = []
        return purchases(of: customer).filter { seen.insert($0.originalID).inserted }.compactMap {
            subscriptions[$0.originalID]
        }
    }

    /// As a customer's receipt has it: one order for each transaction.
    static func orderID(of transaction: String) -> String {
        "M" + String(UInt64(transaction) ?? 0, radix: 36, uppercase: true)
    }

    func transaction(ofOrder order: String) -> LedgerTransaction? {
        guard order.hasPrefix("M"), let number = UInt64(order.dropFirst(), radix: 36) else { return nil }
        return transactions[String(number)]
    }

    // MARK: - What sellers change

    /// Why a subscription cannot be extended now; nil if it can.
    func refusalToExtend(_ subscription: LedgerSubscription, at now: Int64) -> StoreRejection? {
        let latest = transactions[subscription.latest]
        if latest?.isFamilyShared == true { return StoreRejection(4_030_007) }
        if subscription.status != 1 { return StoreRejection(4_030_004) }
        if latest?.text("offerDiscountType") == "FREE_TRIAL" { return StoreRejection(4_030_004) }
        let year = now &- 365 &* StoreProduct.day
        return subscription.extensions.count { $0 > year } >= 2 ? StoreRejection(4_030_005) : nil
    }

    /// Gives a subscription some days more; when it ends now, and the period it is about.
    mutating func extend(
        _ originalID: String, days: Int64, at now: Int64
    ) throws(StoreRejection) -> (ends: Int64, period: LedgerTransaction) {
        guard var subscription = subscriptions[originalID], let latest = transactions[subscription.latest] else {
            throw StoreRejection(4_040_005)
        }
        if let refusal = refusalToExtend(subscription, at: now) { throw refusal }
        let ends = (latest.integer("expiresDate") ?? now) &+ days &* StoreProduct.day
        subscription.renewal.set("renewalDate", .int(ends))
        subscription.extensions.append(now)
        subscriptions[originalID] = subscription
        transactions[subscription.latest]?.change("expiresDate", .int(ends), at: now)
        return (ends, transactions[subscription.latest] ?? latest)
    }

    /// Ties a purchase and its renewals to this token.
    mutating func setToken(_ token: String, of originalID: String, at now: Int64) throws(StoreRejection) {
        let customer = try customer(of: originalID)
        guard let transaction = transactions[originalID] else { throw StoreRejection(4_040_010) }
        guard transaction.originalID == originalID else { throw StoreRejection(4_000_187) }
        guard !transaction.isFamilyShared else { throw StoreRejection(4_000_185) }
        for other in purchases(of: customer) where other.originalID == originalID {
            transactions[other.id]?.change("appAccountToken", .string(token), at: now)
        }
        subscriptions[originalID]?.renewal.set("appAccountToken", .string(token))
    }

    /// A notification about how a subscription stands now.
    func notification(
        _ type: String, _ subtype: String?, about originalID: String, uuid: String, at now: Int64
    ) -> StoreNotification? {
        guard let subscription = subscriptions[originalID], let latest = transactions[subscription.latest] else {
            return nil
        }
        var fields = app.members()
        fields.text("bundleVersion", app.bundleVersion)
        return StoreNotification(
            type: type, subtype: subtype, uuid: uuid, signedDate: now,
            content: .data(
                fields.members, transaction: latest.signed(at: now), renewal: subscription.signedRenewal(at: now),
                status: subscription.status))
    }
}
