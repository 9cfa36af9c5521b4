import Base
import Subscriptions

/// A row of `report_transaction`. Dates in ms since 1970.
package struct ReportTransaction: Sendable, Equatable {
    package let id: String
    package let productID: String
    /// Nil: a grant.
    package let productType: String?
    package let periodType: PeriodType
    package let purchased: Int64
    package let expires: Int64?
    package let accessEnds: Int64?
    package let refundedAt: Int64?
    package let renewalNumber: Int
    package let offerType: Int?
    package let offerID: String?
    /// ISO 3166 alpha-2.
    package let country: String?
    package let currency: String?
    /// In milliunits; nil: Apple signed no price.
    package let price: Int64?
    package let refunded: Int64?
    package let commission: Share
    package let tax: Share
    /// In thousandths of a dollar.
    package let dollars: Int64?
    package let netDollars: Int64?
    package let isTrialConversion: Bool
    package let isFamilyShare: Bool
    package let isUpgraded: Bool

    package init(
        id: String, productID: String, productType: String?, periodType: PeriodType, purchased: Int64, expires: Int64?,
        accessEnds: Int64?, refundedAt: Int64?, renewalNumber: Int, offerType: Int?, offerID: String?,
        country: String?, currency: String?, price: Int64?, refunded: Int64?, commission: Share, tax: Share,
        dollars: Int64?, netDollars: Int64?, isTrialConversion: Bool, isFamilyShare: Bool, isUpgraded: Bool
    ) {
        (self.id, self.productID, self.productType, self.periodType) = (id, productID, productType, periodType)
        (self.purchased, self.expires, self.accessEnds, self.refundedAt) = (purchased, expires, accessEnds, refundedAt)
        (self.renewalNumber, self.offerType, self.offerID) = (renewalNumber, offerType, offerID)
        (self.country, self.currency, self.price, self.refunded) = (country, currency, price, refunded)
        (self.commission, self.tax, self.dollars, self.netDollars) = (commission, tax, dollars, netDollars)
        self.isTrialConversion = isTrialConversion
        self.isFamilyShare = isFamilyShare
        self.isUpgraded = isUpgraded
    }

    /// By the names of the columns.
    func json(of key: PurchaseKey) -> JSON {
        .object(
            key.reportMembers + [
                JSON.Member(name: "transaction_id", value: .storable(id)),
                JSON.Member(name: "product_id", value: .storable(productID)),
                JSON.Member(name: "product_type", value: .storable(productType)),
                JSON.Member(name: "period_type", value: .string(periodType.rawValue)),
                JSON.Member(name: "purchased_ms", value: .int(purchased)),
                JSON.Member(name: "expires_ms", value: .integer(expires)),
                JSON.Member(name: "access_ends_ms", value: .integer(accessEnds)),
                JSON.Member(name: "refunded_ms", value: .integer(refundedAt)),
                JSON.Member(name: "renewal_number", value: .int(Int64(Int32(clamping: renewalNumber)))),
                JSON.Member(name: "offer_type", value: .integer(offerType.map { Int64(Int16(clamping: $0)) })),
                JSON.Member(name: "offer_id", value: .storable(offerID)),
                JSON.Member(name: "country", value: .storable(country)),
                JSON.Member(name: "currency", value: .storable(currency)),
                JSON.Member(name: "price_milliunits", value: .integer(price)),
                JSON.Member(name: "refunded_milliunits", value: .integer(refunded)),
                JSON.Member(name: "commission_millionths", value: .int(commission.millionths)),
                JSON.Member(name: "tax_millionths", value: .int(tax.millionths)),
                JSON.Member(name: "price_usd_milliunits", value: .integer(dollars)),
                JSON.Member(name: "net_usd_milliunits", value: .integer(netDollars)),
                JSON.Member(name: "is_trial_conversion", value: .bool(isTrialConversion)),
                JSON.Member(name: "is_family_share", value: .bool(isFamilyShare)),
                JSON.Member(name: "is_upgraded", value: .bool(isUpgraded)),
            ])
    }
}

/// A row of `report_entitlement`. Dates in ms since 1970.
package struct ReportEntitlement: Sendable, Equatable {
    package let entitlement: String
    package let productID: String
    package let purchased: Int64
    /// Grace included; nil: it has no end.
    package let expires: Int64?
    package let graceEnds: Int64?

    package init(entitlement: String, productID: String, purchased: Int64, expires: Int64?, graceEnds: Int64?) {
        (self.entitlement, self.productID, self.purchased) = (entitlement, productID, purchased)
        (self.expires, self.graceEnds) = (expires, graceEnds)
    }

    /// By the names of the columns.
    func json(of key: PurchaseKey) -> JSON {
        .object(
            key.reportMembers + [
                JSON.Member(name: "entitlement", value: .storable(entitlement)),
                JSON.Member(name: "product_id", value: .storable(productID)),
                JSON.Member(name: "purchased_ms", value: .int(purchased)),
                JSON.Member(name: "expires_ms", value: .integer(expires)),
                JSON.Member(name: "grace_ends_ms", value: .integer(graceEnds)),
            ])
    }
}

extension PurchaseKey {
    fileprivate var reportMembers: [JSON.Member] {
        [
            JSON.Member(name: "lane", value: .int(Int64(lane.number))),
            JSON.Member(name: "app", value: .string(app)),
            JSON.Member(name: "environment", value: .int(Int64(environment.code))),
            JSON.Member(name: "original_transaction_id", value: .string(originalTransactionID)),
        ]
    }
}

extension JSON {
    /// Postgres keeps no NUL in texts, and what Apple signs may have one.
    fileprivate static func storable(_ text: String?) -> JSON {
        .text(text.map { $0.contains("\0") ? $0.replacing("\0", with: "") : $0 })
    }
}
