import Base
import Database
import Subscriptions

/// A transaction in the columns of RevenueCat's scheduled export, version 5 (RevenueCat: "Data Export Version 5"). Pure.
package struct TransactionRow: Sendable {
    /// In the order of RevenueCat's page.
    package static let columns = [
        "rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "country", "country_source", "product_identifier",
        "product_display_name", "product_duration", "start_time", "end_time", "grace_period_end_time",
        "effective_end_time", "store", "is_auto_renewable", "is_trial_period", "is_in_intro_offer_period", "is_sandbox",
        "price_in_usd", "purchase_price_in_usd", "takehome_percentage", "tax_percentage", "commission_percentage",
        "store_transaction_id", "original_store_transaction_id", "refunded_at", "unsubscribe_detected_at",
        "billing_issues_detected_at", "purchased_currency", "price_in_purchased_currency",
        "purchase_price_in_purchased_currency", "entitlement_identifiers", "renewal_number", "is_trial_conversion",
        "presented_offering", "ownership_type", "reserved_subscriber_attributes", "custom_subscriber_attributes",
        "platform", "experiment_id", "experiment_variant", "updated_at", "offer", "offer_type", "first_seen_time",
        "auto_resume_time",
    ]

    /// What the configuration says of money and products.
    package struct Terms: Sendable {
        let catalogue: EntitlementCatalogue
        let rates: DollarRates
        let seller: SellerTerms
        let showsAttributes: Bool

        /// - Parameter showsAttributes: of customers; they are personal data.
        package init(
            catalogue: EntitlementCatalogue, rates: DollarRates, seller: SellerTerms, showsAttributes: Bool
        ) {
            self.catalogue = catalogue
            self.rates = rates
            self.seller = seller
            self.showsAttributes = showsAttributes
        }
    }

    let purchase: Purchase
    let period: Period
    let customer: Customer
    let owner: String
    /// ms since 1970.
    let updated: Int64
    let isTrialConversion: Bool
    let terms: Terms

    private var isLatest: Bool { period.id == purchase.latest.id }
    private var isGrant: Bool { period.transaction.grant != nil }

    /// Texts in the order of the columns; empty for what is null.
    package var fields: [String] { identity + times + kind + money + ids + rest }

    private var identity: [String] {
        let transaction = period.transaction
        let country = transaction.storefront.flatMap(CountryCodes.alpha2)
        return [
            customer.originalAppUserID, customer.lastSeenID ?? owner, country ?? "", country == nil ? "" : "from_sdk",
            transaction.productID, "", "",
        ]
    }

    private var times: [String] {
        let grace = isLatest ? purchase.graceUntil : nil
        return [
            FeedTime.text(period.transaction.purchaseDate),
            period.transaction.isRenewable ? FeedTime.text(period.transaction.expiresDate) : "",
            FeedTime.text(grace), FeedTime.text(period.accessUntil.map { max($0, grace ?? $0) }),
        ]
    }

    private var kind: [String] {
        [
            isGrant ? Holding.promotional : Holding.appStore, TransactionRow.flag(period.transaction.isRenewable),
            TransactionRow.flag(period.type == .trial), TransactionRow.flag(period.type == .introductory),
            TransactionRow.flag(purchase.key.environment == .sandbox),
        ]
    }

    /// Gross, and what stayed, in milliunits; nil where Apple signed no price.
    private var amounts: (gross: Int64, net: Int64)? {
        guard let charge = period.charge else { return (0, 0) }
        guard charge.currency != nil else { return nil }
        return (charge.milliunits, charge.milliunits - (period.refund?.milliunits ?? 0))
    }

    private var money: [String] {
        let currency = period.transaction.currency
        func dollars(_ amount: Int64?) -> String {
            guard let amount else { return "" }
            if amount == 0 { return "0" }
            return currency.flatMap { terms.rates.milliunits(amount, of: $0) }.map { Money.text(milliunits: $0) } ?? ""
        }
        guard !isGrant else { return ["0", "0", "1", "0", "0"] }
        let shares = terms.seller.shares(of: period, in: purchase.key.app)
        return [
            dollars(amounts?.net), dollars(amounts?.gross),
            shares.commission.rest.number.text, shares.tax.number.text, shares.commission.number.text,
        ]
    }

    private var ids: [String] {
        let isRefund = period.revocation?.kind == .refund && !period.transaction.isUpgraded
        let charged = amounts.map { (Money.text(milliunits: $0.net), Money.text(milliunits: $0.gross)) } ?? ("", "")
        let entitlements = terms.catalogue.entitlements(of: period.transaction)
        return [
            period.id, purchase.key.originalTransactionID,
            FeedTime.text(isRefund ? period.revocation?.date : nil),
            FeedTime.text(isLatest && period.transaction.isRenewable ? purchase.cancelledSince : nil),
            FeedTime.text(isLatest ? purchase.billingFailure?.since : nil), period.transaction.currency ?? "",
            charged.0, charged.1, entitlements.isEmpty ? "" : JSON.strings(entitlements).text,
        ]
    }

    private var rest: [String] {
        let transaction = period.transaction
        let offers = [1: "introductory", 2: "promotional", 3: "offer_code", 4: "win_back"]
        return [
            String(period.number), TransactionRow.flag(isTrialConversion), period.presentedOffering ?? "",
            transaction.isFamilyShare ? "FAMILY_SHARED" : "PURCHASED", attributes(isReserved: true),
            attributes(isReserved: false), "", "", "", FeedTime.text(updated),
            transaction.offerIdentifier ?? "", transaction.offerType.map { offers[$0] ?? String($0) } ?? "",
            FeedTime.text(customer.firstSeen), "",
        ]
    }

    private func attributes(isReserved: Bool) -> String {
        terms.showsAttributes ? customer.attributes.part(isReserved: isReserved) : ""
    }

    private static func flag(_ flag: Bool) -> String { flag ? "true" : "false" }
}

extension Customer {
    /// The id that an app or a backend used last.
    var lastSeenID: String? { seen.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key }
}
