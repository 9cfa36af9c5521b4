/// The state of a purchase at an instant, in one word.
package enum PurchaseStatus: String, Sendable, CaseIterable {
    case active
    /// Unpaid, and access goes on.
    case grace
    /// Unpaid, without access; Apple still tries to charge.
    case billingRetry = "billing_retry"
    case expired
    /// Refunded or taken back.
    case revoked
}

/// Why a subscription will not renew.
package enum RenewalObstacle: String, Sendable, CaseIterable {
    case notRenewable = "not_renewable"
    case revoked
    case billingError = "billing_error"
    case priceIncrease = "price_increase"
    case switchedOff = "switched_off"
    case ended
}

extension Purchase {
    /// Apple tries to charge for this long after the end of the period, in ms.
    static let retryPeriod: Int64 = 60 * .day
    /// The same where the customer committed to a year that is paid by the month.
    static let commitmentRetryPeriod: Int64 = 90 * .day

    /// By the dates alone: `data.status` of a notification is as old as its signature.
    package func status(at instant: Int64) -> PurchaseStatus {
        if hasAccess(at: instant) {
            return paidAccessUntil.map { instant < $0 } ?? true ? .active : .grace
        }
        if latest.revocation != nil { return .revoked }
        return retryEndsAt.map { instant < $0 } ?? false ? .billingRetry : .expired
    }

    /// Why it will not renew; nil: it should. What ended does not renew by a switch: only a new period says that it does.
    package var renewalObstacle: RenewalObstacle? {
        if !isRenewable { return .notRenewable }
        if latest.revocation != nil { return .revoked }
        if billingFailure != nil { return .billingError }
        if expirationIntent == 3 { return .priceIncrease }
        if autoRenewOffSince != nil { return .switchedOff }
        return expirationIntent != nil || isEndConfirmed ? .ended : nil
    }

    package var willRenew: Bool { renewalObstacle == nil }

    /// The same at an instant: what has ended does not renew, also if its end was not announced.
    package func renewalObstacle(at instant: Int64) -> RenewalObstacle? {
        renewalObstacle ?? (hasAccess(at: instant) ? nil : .ended)
    }
}
