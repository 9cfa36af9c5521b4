import Base
import Crypto

/// The objects of RevenueCat's REST v2 that say what a customer has: instants in ms since 1970, amounts in whole units of
/// the currency, and every member that its OpenAPI document (Developer API, 2.0.0) requires. Pure.
///
/// An entitlement's id is its name in the configuration, and a product's id is the store's.
package struct V2Document: Sendable {
    private let document: SubscriberDocument
    private let rates: DollarRates
    private let terms: SellerTerms

    package init(_ document: SubscriberDocument, rates: DollarRates, terms: SellerTerms) {
        (self.document, self.rates, self.terms) = (document, rates, terms)
    }

    /// Something of a list, and the id by which `starting_after` names it.
    package struct Item: Sendable, Equatable {
        package let id: String
        package let json: JSON

        package init(id: String, json: JSON) {
            (self.id, self.json) = (id, json)
        }
    }

    package static func list(_ items: [JSON], url: String, next: String? = nil) -> JSON {
        .object([
            "items": .array(items), "next_page": .text(next), "object": .string("list"), "url": .string(url),
        ])
    }

    // MARK: - Customers

    /// - Parameters:
    ///   - active: `active_entitlements`; nil: left out, as in lists of customers.
    ///   - attributes: nil: not asked for.
    package static func customer(
        _ place: V2Place, firstSeen: Int64, lastSeen: Int64, active: [Item]? = nil, attributes: [Item]? = nil
    ) -> JSON {
        .object([
            "active_entitlements": active.map { list($0.map(\.json), url: "\(place.url)/active_entitlements") },
            "attributes": attributes.map { list($0.map(\.json), url: "\(place.url)/attributes") },
            "experiment": .null, "first_seen_at": .int(firstSeen), "id": .string(place.customer),
            "last_seen_app_version": .null, "last_seen_at": .int(lastSeen), "last_seen_country": .null,
            "last_seen_platform": .null, "last_seen_platform_version": .null, "object": .string("customer"),
            "project_id": .string(place.project),
        ])
    }

    package static func attributes(_ attributes: CustomerAttributes) -> [Item] {
        attributes.live.sorted { $0.key < $1.key }.map { key, attribute in
            Item(
                id: key,
                json: .object([
                    "name": .string(key), "object": .string("customer.attribute"),
                    "updated_at": .int(attribute.updated), "value": .text(attribute.value),
                ]))
        }
    }

    /// What gives access now, in the order of the names; the end has the grace in it.
    package func activeEntitlements(
        of customer: CustomerProfile, _ snapshots: [PurchaseSnapshot], now: Int64
    ) -> [Item] {
        document.entitlements(customer, snapshots.holdings, now).filter { $0.value.isActive(at: now) }
            .map { name, holding in
                Item(
                    id: name,
                    json: .object([
                        "entitlement_id": .string(name), "expires_at": .integer(holding.expires),
                        "object": .string("customer.active_entitlement"),
                    ]))
            }
    }

    // MARK: - Entitlements

    /// Those of the configuration, in the order of their names.
    package func entitlements(project: String) -> [Item] {
        document.catalogue.products.keys.sorted().map {
            Item(id: $0, json: V2Document.entitlement($0, project: project))
        }
    }

    private static func entitlement(_ name: String, project: String) -> JSON {
        // The configuration does not say since when it has something.
        .object([
            "created_at": .int(0), "display_name": .string(name), "id": .string(name), "lookup_key": .string(name),
            "object": .string("entitlement"), "project_id": .string(project),
        ])
    }

    private func entitlements(_ names: [String], at place: V2Place, of object: String) -> JSON {
        V2Document.list(
            names.map { V2Document.entitlement($0, project: place.project) },
            url: "\(V2Place.url(ofProject: place.project))/\(object)/entitlements")
    }

    // MARK: - Subscriptions

    /// Subscriptions and what was granted, one for each product of each purchase, the latest first.
    ///
    /// - Parameter environment: nil: both.
    package func subscriptions(
        of customer: CustomerProfile, _ purchases: [Purchase], in environment: StoreEnvironment?, at place: V2Place,
        now: Int64
    ) -> [Item] {
        let folded = Dictionary(purchases.map { ($0.key, $0) }) { first, _ in first }
        let holdings = purchases.map(PurchaseSnapshot.init).holdings.filter { holding in
            holding.isSubscription && (holding.isRenewable || holding.grantedEntitlement != nil)
                && environment.map { $0 == holding.key.environment } ?? true
        }
        let continued = purchases.successors
        let dated = holdings.compactMap { holding in
            folded[holding.key].map { purchase in
                let isCurrent = purchase.latest.id == holding.transactionID && continued[purchase.key] == nil
                let item = subscription(holding, purchase, isCurrent: isCurrent, customer, place, now)
                return (date: holding.purchaseDate, item: item)
            }
        }
        return dated.sorted { ($1.date, $0.item.id) < ($0.date, $1.item.id) }.map(\.item)
    }

    /// - Parameter isCurrent: whether the purchase has come to this product, and goes on as no other one.
    private func subscription(
        _ holding: Holding, _ purchase: Purchase, isCurrent: Bool, _ customer: CustomerProfile, _ place: V2Place,
        _ now: Int64
    ) -> Item {
        let name = "\(holding.key.originalTransactionID)|\(holding.productID)"
        let id = V2Document.id("sub", holding.key, name)
        let period = purchase.period(holding.transactionID)
        let periods = purchase.periods.filter { $0.productID == holding.productID }
        let end = V2Document.end(of: periods, within: holding)
        let status = Status(of: holding, isCurrent ? purchase : nil, now: now)
        let renewal = Renewal(of: holding, isCurrent ? purchase : nil, status)
        let names = holding.grantedEntitlement.map { [$0] } ?? document.catalogue.entitlements(of: holding.productID)
        let isGrant = holding.grantedEntitlement != nil
        let revenue = V2Revenue(periods, of: holding.key.app, rates: rates, terms: terms)
        return Item(
            id: id,
            json: .object([
                "auto_renewal_status": .string(renewal.rawValue),
                "country": .text(period?.transaction.storefront.flatMap(CountryCodes.alpha2)),
                "current_period_ends_at": .integer(end), "current_period_starts_at": .int(holding.purchaseDate),
                "customer_id": .string(place.customer), "ends_at": .integer(end),
                "entitlements": entitlements(names, at: place, of: "subscriptions/\(id)"),
                "environment": .string(holding.key.environment.rawValue.lowercased()),
                "gives_access": .bool(
                    holding.isActive(at: now)
                        && document.sandboxRule.grants(holding.key.environment, to: customer.appUserIDs)),
                "id": .string(id),
                "management_url": isGrant ? .null : .string(SubscriberDocument.managementURL),
                "object": .string("subscription"),
                "original_customer_id": .string(customer.originalAppUserID),
                "ownership": .string(holding.isFamilyShare ? "family_shared" : "purchased"),
                "pending_changes": renewal == .changesProduct
                    ? purchase.pendingProductID.map { V2Document.change(to: $0, app: holding.key.app) } : .null,
                "pending_payment": .bool(status == .inGrace || status == .inRetry),
                "presented_offering_id": .text(period?.presentedOffering),
                "product_id": isGrant ? .null : .string(holding.productID),
                "starts_at": .int(holding.originalPurchaseDate), "status": .string(status.rawValue),
                "store": .string(holding.store), "store_subscription_identifier": .string(holding.transactionID),
                "total_revenue_in_usd": revenue.json,
            ]))
    }

    private static func change(to product: String, app: String) -> JSON {
        .object([
            "product": .object([
                "app_id": .string(app), "created_at": .int(0), "display_name": .null, "id": .string(product),
                "object": .string("product"), "store_identifier": .string(product),
                "type": .string("subscription"),
            ])
        ])
    }

    private enum Status: String {
        case trialing, active, expired
        case inGrace = "in_grace_period"
        case inRetry = "in_billing_retry"

        /// - Parameter current: the purchase, where it has come to this product.
        init(of holding: Holding, _ current: Purchase?, now: Int64) {
            let standing = current?.status(at: now)
            if holding.isActive(at: now) {
                self = standing == .grace ? .inGrace : holding.periodType == .trial ? .trialing : .active
            } else {
                self = standing == .billingRetry ? .inRetry : .expired
            }
        }
    }

    private enum Renewal: String {
        case willRenew = "will_renew"
        case willNotRenew = "will_not_renew"
        case changesProduct = "will_change_product"
        case needsConsent = "requires_price_increase_consent"

        /// - Parameter current: as above.
        init(of holding: Holding, _ current: Purchase?, _ status: Status) {
            // Apple goes on trying to charge, so that a failure is no end. In a commitment the next period renews, whatever the
            // customer has chosen for the time after it.
            let isOver = current?.renewalObstacle.map { $0 != .billingError } ?? false
            guard let current, !isOver, current.autoRenewOffSince == nil, holding.isRenewable, status != .expired else {
                self = .willNotRenew
                return
            }
            if let pending = current.pendingProductID, pending != holding.productID {
                self = .changesProduct
            } else {
                // Apple: priceIncreaseStatus 0 asks for a consent that was not given.
                self = current.priceIncreaseStatus == 0 ? .needsConsent : .willRenew
            }
        }
    }

    /// When the last of these periods ends, without grace, and not after the holding's own end, in ms; nil: never.
    private static func end(of periods: [Period], within holding: Holding) -> Int64? {
        var last = Int64.min
        for period in periods {
            guard let end = period.accessUntil else { return holding.expires }
            last = max(last, end)
        }
        return holding.expires.map { min($0, last) } ?? last
    }

    // MARK: - Purchases

    /// What does not renew, one for each transaction, the latest first; without what the family shared and took away.
    ///
    /// - Parameter environment: nil: both.
    package func purchases(
        of customer: CustomerProfile, _ purchases: [Purchase], in environment: StoreEnvironment?, at place: V2Place
    ) -> [Item] {
        let bought = purchases.filter { purchase in environment.map { $0 == purchase.key.environment } ?? true }
            .flatMap { purchase in
                purchase.periods.filter { $0.transaction.isBoughtOnce && $0.revocation?.kind != .family }
                    .map { (key: purchase.key, period: $0) }
            }
        let dated = bought.map { key, period in
            (date: period.transaction.purchaseDate, item: self.purchase(key, period, customer, place))
        }
        return dated.sorted { ($1.date, $0.item.id) < ($0.date, $1.item.id) }.map(\.item)
    }

    private func purchase(
        _ key: PurchaseKey, _ period: Period, _ customer: CustomerProfile, _ place: V2Place
    ) -> Item {
        let transaction = period.transaction
        let id = V2Document.id("purch", key, transaction.transactionID)
        let names = document.catalogue.entitlements(of: transaction.productID)
        return Item(
            id: id,
            json: .object([
                "country": .text(transaction.storefront.flatMap(CountryCodes.alpha2)),
                "customer_id": .string(place.customer),
                "entitlements": entitlements(names, at: place, of: "purchases/\(id)"),
                "environment": .string(key.environment.rawValue.lowercased()), "id": .string(id),
                "object": .string("purchase"), "original_customer_id": .string(customer.originalAppUserID),
                "ownership": .string(transaction.isFamilyShare ? "family_shared" : "purchased"),
                "presented_offering_id": .text(period.presentedOffering),
                "product_id": .string(transaction.productID), "purchased_at": .int(transaction.purchaseDate),
                "quantity": .int(Int64(transaction.quantity)),
                "revenue_in_usd": V2Revenue([period], of: key.app, rates: rates, terms: terms).json,
                "status": .string(period.revocation == nil || period.isKeptInPart ? "owned" : "refunded"),
                "store": .string(Holding.appStore),
                "store_purchase_identifier": .string(transaction.transactionID),
            ]))
    }

    /// The same for the same thing of the store, whichever customer has it.
    private static func id(_ kind: String, _ key: PurchaseKey, _ name: String) -> String {
        let text = "\(kind)|\(key.app)|\(key.environment.rawValue)|\(name)"
        return kind + Hex.encode(Digest.sha256(Array(text.utf8)).prefix(8))
    }
}
