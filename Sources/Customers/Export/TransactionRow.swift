import Base
import Database
import Subscriptions

/// A transaction in the columns of RevenueCat's scheduled export, version 5 (RevenueCat: "Data Export Version 5"). Pure.
package struct TransactionRow: Sendable {
    package static let columns = RevenueCatColumn.allCases.map(\.rawValue)

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
    private var transaction: TransactionFact { period.transaction }
    private var isGrant: Bool { transaction.grant != nil }

    /// Texts in the order of the columns; empty for what is null.
    package var fields: [String] {
        let money = TransactionMoney(period, in: purchase.key.app, rates: terms.rates, seller: terms.seller)
        return RevenueCatColumn.allCases.map { text(of: $0, money) }
    }

    private func text(of column: RevenueCatColumn, _ money: TransactionMoney) -> String {
        switch column {
        case .originalAppUserID: customer.originalAppUserID
        case .lastSeenAppUserID: customer.lastSeenID ?? owner
        case .country: country ?? ""
        case .countrySource: country == nil ? "" : "from_sdk"
        case .product: transaction.productID
        case .startTime: FeedTime.text(transaction.purchaseDate)
        case .endTime: transaction.isRenewable ? FeedTime.text(transaction.expiresDate) : ""
        case .gracePeriodEndTime: FeedTime.text(grace)
        case .effectiveEndTime: FeedTime.text(period.accessUntil.map { max($0, grace ?? $0) })
        case .store: isGrant ? Holding.promotional : Holding.appStore
        case .isAutoRenewable: TransactionRow.flag(transaction.isRenewable)
        case .isTrialPeriod: TransactionRow.flag(period.type == .trial)
        case .isInIntroOfferPeriod: TransactionRow.flag(period.type == .introductory)
        case .isSandbox: TransactionRow.flag(purchase.key.environment == .sandbox)
        case .priceInUSD: TransactionRow.amount(money.netDollars)
        case .purchasePriceInUSD: TransactionRow.amount(money.grossDollars)
        case .takehomePercentage: money.commission.rest.number.text
        case .taxPercentage: money.tax.number.text
        case .commissionPercentage: money.commission.number.text
        case .platform: isGrant ? "" : TransactionRow.platform
        case .storeTransactionID: period.id
        case .originalStoreTransactionID: purchase.key.originalTransactionID
        case .refundedAt: FeedTime.text(isRefund ? period.revocation?.date : nil)
        case .unsubscribeDetectedAt:
            FeedTime.text(isLatest && transaction.isRenewable ? purchase.cancelledSince : nil)
        case .billingIssuesDetectedAt: FeedTime.text(isLatest ? purchase.billingFailure?.since : nil)
        case .purchasedCurrency: money.currency ?? ""
        case .priceInPurchasedCurrency: TransactionRow.amount(money.net)
        case .purchasePriceInPurchasedCurrency: TransactionRow.amount(money.gross)
        case .entitlements: entitlements
        case .renewalNumber: String(period.number)
        case .isTrialConversion: TransactionRow.flag(isTrialConversion)
        case .presentedOffering: period.presentedOffering ?? ""
        case .ownershipType: transaction.isFamilyShare ? "FAMILY_SHARED" : "PURCHASED"
        case .reservedAttributes: attributes(isReserved: true)
        case .customAttributes: attributes(isReserved: false)
        case .updatedAt: FeedTime.text(updated)
        case .offer: transaction.offerIdentifier ?? ""
        case .offerType: transaction.offerType.map { TransactionRow.offers[$0] ?? String($0) } ?? ""
        case .firstSeenTime: FeedTime.text(customer.firstSeen)
        // No data here.
        case .productDisplayName, .productDuration, .experimentID, .experimentVariant, .autoResumeTime: ""
        }
    }

    /// Apple signs no platform. Public models of RevenueCat's exports join and count by it, so that rows without one would be
    /// in none of their sums.
    private static let platform = "iOS"
    private static let offers = [1: "introductory", 2: "promotional", 3: "offer_code", 4: "win_back"]

    private var country: String? { transaction.storefront.flatMap(CountryCodes.alpha2) }
    private var grace: Int64? { isLatest ? purchase.graceUntil : nil }

    /// What an upgrade gives back is no refund: the customer changed to another product.
    private var isRefund: Bool { period.revocation?.kind == .refund && !transaction.isUpgraded }

    private var entitlements: String {
        let names = terms.catalogue.entitlements(of: transaction)
        return names.isEmpty ? "" : JSON.strings(names).text
    }

    private func attributes(isReserved: Bool) -> String {
        terms.showsAttributes ? customer.attributes.part(isReserved: isReserved) : ""
    }

    /// - Parameter milliunits: nil is empty.
    private static func amount(_ milliunits: Int64?) -> String { milliunits.map(Money.text) ?? "" }

    private static func flag(_ flag: Bool) -> String { flag ? "true" : "false" }
}

extension Customer {
    /// The id that an app or a backend used last.
    var lastSeenID: String? { seen.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key }
}
