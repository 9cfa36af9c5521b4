import Base

/// Whether a customer has an entitlement, why, and until or since when.
package struct EntitlementExplanation: Sendable, Equatable {
    package enum Because: Sendable, Equatable {
        /// What gives it.
        case given(Grant)
        /// Why it is gone.
        case ended(EndCause)
        /// Only sandbox purchases would give it, and they do not count for this customer.
        case sandboxDoesNotCount
        case neverBought
    }

    package enum Grant: String, Sendable, CaseIterable {
        case paid, trial, introductory, grace
        case familyShare = "family_share"
        /// Bought once, without an end.
        case once
        /// Given by the seller.
        case granted
    }

    package let name: String
    package let because: Because
    /// The product that gives it, or gave it last.
    package let productID: String?
    package let purchase: PurchaseKey?
    /// When access by it ends or ended, in ms; nil: never, or never begun.
    package let until: Int64?
    /// What will become of it, or how it came to its end.
    package let remark: String?
    /// Whether a subscription goes on then; nil: it is none, or it cannot be charged.
    package let renews: Bool?

    package init(
        name: String, because: Because, productID: String?, purchase: PurchaseKey?, until: Int64?, remark: String?,
        renews: Bool? = nil
    ) {
        self.name = name
        self.because = because
        self.productID = productID
        self.purchase = purchase
        self.until = until
        self.remark = remark
        self.renews = renews
    }

    package var isActive: Bool {
        if case .given = because { true } else { false }
    }

    package var isSandbox: Bool { purchase?.environment == .sandbox }

    /// `because` as programs know it.
    package var word: String {
        switch because {
        case .given(let grant): grant.rawValue
        case .ended(let cause): cause.rawValue
        case .sandboxDoesNotCount: "sandbox_does_not_count"
        case .neverBought: "never_bought"
        }
    }

    /// As people read it.
    package var sentence: String {
        let product = productID.map { ": \($0)" } ?? ""
        let text =
            switch because {
            case .given(let grant): "active \(DisplayText.until(until))\(product), \(grant.sentence)"
            case .ended(let cause):
                "not active\(until.map { " since \(DisplayText.time($0))" } ?? "")\(product), \(cause.sentence)"
                    + (remark.map { " (\($0))" } ?? "")
            case .sandboxDoesNotCount: "not active\(product) was bought in the sandbox, which does not count here"
            case .neverBought: "not active: nothing was bought that gives it"
            }
        guard isActive else { return text }
        return text + (remark.map { "; \($0)" } ?? "") + (isSandbox ? " [sandbox]" : "")
    }

    /// `{"active", "because", "product_id", "original_transaction_id", "until", "sandbox", "text"}`.
    package var json: JSON {
        .object([
            "active": .bool(isActive), "because": .string(word),
            "original_transaction_id": .text(purchase?.originalTransactionID), "product_id": .text(productID),
            "sandbox": .bool(isSandbox), "text": .string(sentence), "until": .date(until),
        ])
    }
}

extension EntitlementExplanation.Grant {
    var sentence: String {
        switch self {
        case .paid: "paid"
        case .trial: "free trial"
        case .introductory: "introductory price"
        case .grace: "in grace: unpaid, access goes on"
        case .familyShare: "shared by a family member"
        case .once: "bought once"
        case .granted: "granted"
        }
    }
}

extension EntitlementExplanation {
    init(_ name: String, never because: Because, product: String? = nil, purchase: PurchaseKey? = nil) {
        self.init(
            name: name, because: because, productID: product, purchase: purchase, until: nil, remark: nil)
    }

    /// - Parameter passedOver: what would have given it instead, had it not ended.
    init(_ name: String, by held: HeldPeriod, passedOver: Holding? = nil, now: Int64) {
        let holding = held.holding
        let isActive = holding.isActive(at: now)
        let remarks = [
            isActive ? held.outlook : held.history,
            passedOver?.expires.map { "the production purchase ended \(DisplayText.time($0))" },
        ].compactMap(\.self)
        self.init(
            name: name, because: isActive ? .given(held.grant(at: now)) : .ended(held.endCause),
            productID: holding.productID, purchase: holding.key, until: holding.expires,
            remark: remarks.isEmpty ? nil : remarks.joined(separator: "; "), renews: isActive ? held.renews : nil)
    }
}

/// A holding with the purchase that it comes from, for saying why.
struct HeldPeriod {
    let holding: Holding
    let purchase: Purchase
    let period: Period
    /// The purchase that it goes on as.
    let successor: Purchase?

    init?(_ holding: Holding, _ purchase: Purchase?, successor: Purchase? = nil) {
        guard let purchase, let period = purchase.period(holding.transactionID) else { return nil }
        (self.holding, self.purchase, self.period, self.successor) = (holding, purchase, period, successor)
    }

    private var isCurrent: Bool { period.id == purchase.latest.id }
    private var expires: Int64? { holding.expires }
    private var isSubscription: Bool { holding.isSubscription }

    fileprivate func grant(at now: Int64) -> EntitlementExplanation.Grant {
        if isCurrent, purchase.status(at: now) == .grace { return .grace }
        if holding.isFamilyShare { return .familyShare }
        if purchase.latest.transaction.isBoughtOnce { return .once }
        switch period.type {
        case .trial: return .trial
        case .introductory: return .introductory
        case .normal: return .paid
        case .promotional: return .granted
        }
    }

    fileprivate var endCause: EndCause {
        if let revocation = period.revocation, period.wasCutShort {
            return EndCause(revocation)
        }
        if successor != nil { return .migrated }
        if isCurrent { return purchase.endCause }
        return isFollowed ? .productChanged : .notRenewed
    }

    /// Whether the purchase went on with another product when this one ended, and not after a gap.
    private var isFollowed: Bool {
        guard let next = purchase.periods.first(where: { $0.number > period.number }) else { return true }
        return next.transaction.reason == "RENEWAL" || next.transaction.purchaseDate <= expires ?? .max
    }

    /// What will become of access that is there.
    /// Whether it is charged anew at its end.
    fileprivate var renews: Bool? {
        guard isSubscription, expires != nil, holding.grantedEntitlement == nil, isCurrent,
            !period.transaction.isBoughtOnce, purchase.billingFailure == nil
        else { return nil }
        return purchase.willRenew
    }

    fileprivate var outlook: String? {
        guard isSubscription, expires != nil, holding.grantedEntitlement == nil else { return nil }
        guard isCurrent else { return "then \(purchase.latest.productID)" }
        guard !period.transaction.isBoughtOnce else { return nil }
        if let failure = purchase.billingFailure {
            return "could not be charged since \(DisplayText.time(failure.since))"
        }
        if purchase.willRenew {
            let commitment = purchase.commitment?.renewal.offSince != nil ? ", until the commitment ends" : ""
            return "renews then" + (purchase.pendingProductID.map { " as \($0)" } ?? "") + commitment
        }
        guard let date = purchase.cancelledSince else { return "does not renew" }
        return "does not renew: switched off \(DisplayText.time(date))"
    }

    /// How access that is gone came to its end.
    fileprivate var history: String? {
        if let successor {
            return
                "since then \(successor.latest.productID), original transaction \(successor.key.originalTransactionID)"
        }
        guard isCurrent else {
            switch endCause {
            case .productChanged: return "since then \(purchase.latest.productID)"
            case .notRenewed: return "bought again later as \(purchase.latest.productID)"
            default: return nil
            }
        }
        switch purchase.endCause {
        case .switchedOff, .billingFailed: return purchase.endCauseDate.map { "since \(DisplayText.time($0))" }
        default: return nil
        }
    }
}
