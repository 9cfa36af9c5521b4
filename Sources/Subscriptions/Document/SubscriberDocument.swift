import Base
import Crypto

/// The document about one customer that RevenueCat's REST v1 gives: keys sorted at every level, dates to the second.
package struct SubscriberDocument: Sendable {
    package let catalogue: EntitlementCatalogue
    package let sandboxRule: SandboxRule

    static let managementURL = "https://apps.apple.com/account/subscriptions"

    package init(catalogue: EntitlementCatalogue, sandboxRule: SandboxRule = .all) {
        self.catalogue = catalogue
        self.sandboxRule = sandboxRule
    }

    /// `{"request_date", "request_date_ms", "subscriber"}`.
    package func json(customer: CustomerProfile, purchases: [Purchase], now: Int64) -> JSON {
        json(customer: customer, snapshots: purchases.map(PurchaseSnapshot.init), now: now)
    }

    package func json(customer: CustomerProfile, snapshots: [PurchaseSnapshot], now: Int64) -> JSON {
        let content = Content(of: customer, snapshots, self, now: now)
        return .object([
            "request_date": .date(now), "request_date_ms": .int(now),
            "subscriber": .object(content.before + content.lastSeen + content.after),
        ])
    }

    /// What is sent of it.
    package struct Page: Sendable, Equatable {
        /// Ends with a newline.
        package let body: [UInt8]
        /// 16 hex digits that change with everything about the customer, also with the end of access, and with neither
        /// the time of reading nor `last_seen`.
        package let tag: String
    }

    package func page(customer: CustomerProfile, snapshots: [PurchaseSnapshot], now: Int64) -> Page {
        let content = Content(of: customer, snapshots, self, now: now)
        let (before, after) = (JSON.object(content.before).bytes, JSON.object(content.after).bytes)
        // Both halves are objects with members; between them goes what the tag does not cover.
        var body = JSON.object(["request_date": .date(now), "request_date_ms": .int(now)]).bytes
        body.removeLast()
        body += #","subscriber":"#.utf8
        body += before.dropLast()
        body.append(UInt8(ascii: ","))
        body += JSON.object(content.lastSeen).bytes.dropFirst().dropLast()
        body.append(UInt8(ascii: ","))
        body += after.dropFirst()
        body += "}\n".utf8
        let covered = before + after + JSON.strings(content.active).bytes
        return Page(body: body, tag: Hex.encode(Digest.sha256(covered).prefix(8)))
    }

    /// The members of `subscriber` in the order of their names.
    private struct Content {
        let before: [JSON.Member]
        let lastSeen: [JSON.Member]
        let after: [JSON.Member]
        /// Which entitlements and subscriptions give access now.
        let active: [String]

        init(
            of customer: CustomerProfile, _ snapshots: [PurchaseSnapshot], _ document: SubscriberDocument, now: Int64
        ) {
            let holdings = snapshots.holdings
            let entitlements = document.entitlements(customer, holdings, now)
            let subscriptions = Holding.best(holdings.filter(\.isSubscription), at: now).inOrder
            let isManaged = subscriptions.contains { $0.value.isManaged(at: now) }
            before = [
                JSON.Member(name: "entitlements", value: .object(entitlements.map(SubscriberDocument.entitlement))),
                JSON.Member(name: "first_seen", value: .date(customer.firstSeen)),
            ]
            lastSeen = [JSON.Member(name: "last_seen", value: .date(customer.lastSeen))]
            after =
                JSON.object([
                    "management_url": isManaged ? .string(managementURL) : .null,
                    "non_subscriptions": document.oneTimePurchases(snapshots),
                    "original_app_user_id": .string(customer.originalAppUserID),
                    "original_application_version": .text(customer.originalApplicationVersion),
                    "original_purchase_date": .date(customer.originalPurchaseDate), "other_purchases": .object([]),
                    "subscriber_attributes": customer.attributes?.sortedByName,
                    "subscriptions": .object(
                        subscriptions.map { product, holding in
                            JSON.Member(name: product, value: SubscriberDocument.subscription(holding, now))
                        }),
                ]).members ?? []
            active = [entitlements, subscriptions].flatMap { held in
                held.filter { $0.value.isActive(at: now) }.map(\.key) + [""]
            }
        }
    }

    // MARK: - Entitlements

    /// All that were ever held. Readers judge them by `expires_date` alone, so it has the grace in it.
    func entitlements(
        _ customer: CustomerProfile, _ holdings: [Holding], _ now: Int64
    ) -> [(key: String, value: Holding)] {
        let granting = holdings.filter { sandboxRule.grants($0.key.environment, to: customer.appUserIDs) }
        return Holding.byEntitlement(granting, catalogue, at: now).inOrder
    }

    private static func entitlement(_ name: String, _ holding: Holding) -> JSON.Member {
        JSON.Member(
            name: name,
            value: .object([
                "expires_date": .date(holding.expires), "grace_period_expires_date": .date(holding.grace),
                "product_identifier": .string(holding.productID), "purchase_date": .date(holding.purchaseDate),
            ]))
    }

    // MARK: - Subscriptions

    private static func subscription(_ holding: Holding, _ now: Int64) -> JSON {
        .object([
            "auto_resume_date": .null, "billing_issues_detected_at": .date(holding.unpaidSince), "display_name": .null,
            "expires_date": .date(holding.expires), "grace_period_expires_date": .date(holding.grace),
            "is_sandbox": .bool(holding.key.environment == .sandbox),
            "management_url": holding.isManaged(at: now) ? .string(managementURL) : .null,
            "original_purchase_date": .date(holding.originalPurchaseDate),
            "ownership_type": .string(holding.isFamilyShare ? "FAMILY_SHARED" : "PURCHASED"),
            "period_type": .string(periodType(holding)), "price": price(holding.price),
            "purchase_date": .date(holding.purchaseDate),
            "refunded_at": .date(holding.refunded), "store": .string(holding.store),
            "store_transaction_id": .string(holding.transactionID),
            "unsubscribe_detected_at": .date(unsubscribed(holding, now)),
        ])
    }

    /// Android's SDK reads no subscription at all beside one of a type that it does not know.
    private static func periodType(_ holding: Holding) -> String {
        (holding.periodType == .promotional ? .normal : holding.periodType).rawValue.lowercased()
    }

    /// Apple retries a charge for up to 60 days (Apple, "Reducing involuntary subscriber churn"); what ended before that
    /// renews no more, though nothing may have been signed about its end. SDKs take null for a subscription that will renew.
    private static func unsubscribed(_ holding: Holding, _ now: Int64) -> Int64? {
        if let since = holding.switchedOffSince { return since }
        guard holding.isRenewable, let end = holding.expires, end.later(by: 60 * .day) < now else { return nil }
        return end
    }

    /// Null where nothing was signed: readers drop an entry whose amount is no number.
    private static func price(_ price: Holding.Price?) -> JSON {
        guard let price else { return .null }
        return .object(["amount": Money.number(milliunits: price.amount), "currency": .string(price.currency)])
    }

    // MARK: - What was bought once

    /// By product, in the order of purchase; without what was taken back. Of what was refunded in part, the price is what
    /// the customer still paid.
    private func oneTimePurchases(_ snapshots: [PurchaseSnapshot]) -> JSON {
        let bought = snapshots.flatMap { snapshot in snapshot.items.map { (key: snapshot.key, item: $0) } }
        return .object(
            Dictionary(grouping: bought, by: \.item.productID).inOrder.map { product, items in
                let ordered = items.sorted {
                    ($0.item.purchaseDate, $0.item.transactionID) < ($1.item.purchaseDate, $1.item.transactionID)
                }
                return JSON.Member(name: product, value: .array(ordered.map { oneTimePurchase($0.key, $0.item) }))
            })
    }

    private func oneTimePurchase(_ key: PurchaseKey, _ item: PurchaseSnapshot.Item) -> JSON {
        let name = "one-time|\(key.app)|\(key.environment.rawValue)|\(item.transactionID)"
        return .object([
            "display_name": .null, "id": .string(Hex.encode(Digest.sha256(Array(name.utf8)).prefix(5))),
            "is_sandbox": .bool(key.environment == .sandbox),
            "original_purchase_date": .date(item.originalPurchaseDate), "price": Self.price(item.price),
            "purchase_date": .date(item.purchaseDate), "store": .string(item.store),
            "store_transaction_id": .string(item.transactionID),
        ])
    }
}

extension Holding {
    /// Whether the subscriber can change or end it in the App Store.
    fileprivate func isManaged(at now: Int64) -> Bool {
        store == Holding.appStore && isRenewable && isActive(at: now)
    }
}

extension Dictionary where Key == String {
    /// By the UTF-8 bytes of the keys.
    fileprivate var inOrder: [(key: String, value: Value)] {
        sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}
