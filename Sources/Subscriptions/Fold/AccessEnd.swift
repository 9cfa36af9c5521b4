import Base

/// The end of a purchase's access that its facts foretell.
package struct AccessEnd: Sendable, Equatable {
    /// When access ends, in ms.
    package let instant: Int64
    /// The period that ends with it.
    package let period: Period
    /// Names this end by the signed instant, in ms: expiry, end of grace or revocation, as it was signed first. Two looks
    /// at the same end find the same name.
    package let name: String
    package let reason: EventReason
    package let certainty: Certainty
    package let environment: StoreEnvironment

    /// Whether both are one end of one period.
    func isSame(as other: AccessEnd) -> Bool {
        period.id == other.period.id && name == other.name
    }

    /// From when on it may be told, in ms.
    package func confirmed(_ confirmation: ExpiryConfirmation) -> Int64 {
        confirmation.confirmed(instant, certainty, in: environment)
    }

    /// When to look again whether it may be told, in ms.
    package func nextLook(after now: Int64, _ confirmation: ExpiryConfirmation) -> Int64 {
        confirmation.nextLook(instant, certainty, in: environment, after: now)
    }

    package enum Certainty: Sendable, Equatable {
        /// Apple says that it ended, or nothing could renew it.
        case told
        /// It will not renew, as of this instant in ms; until the end that can change.
        case foretold(Int64)
        /// It should renew: only silence says that it did not.
        case silent
    }
}

extension Purchase {
    /// Nil if access never ends, or ends without being told: a refund of what was bought once is told as such only.
    package var ending: AccessEnd? {
        guard let end = accessUntil else { return nil }
        if latest.transaction.expiresDate == nil, latest.revocation?.kind == .refund { return nil }
        // What took its place goes on, though its transaction has not come yet.
        if latest.transaction.isUpgraded || isLatestSuperseded, latest.revocation != nil { return nil }
        let isCut = wasCutShort
        let grace = graceUntil != nil ? billingFailure?.graceGranted : nil
        let isLatestEnding = grace != nil || latest.accessUntil == end
        let period = isLatestEnding ? latest : (periods.last { $0.accessUntil == end } ?? latest)
        let name: String
        if isLatestEnding {
            name = isCut ? nameOfCut ?? String(end) : String(grace ?? latest.paidUntil ?? end)
        } else {
            name = String(end)
        }
        return AccessEnd(
            instant: end, period: period, name: name, reason: endingReason(isCut: isCut), certainty: endCertainty,
            environment: key.environment)
    }

    /// A revocation names the end that it makes. One that was signed when access had ended anyway is told as the money it
    /// is; the end was told, and keeps its name.
    private var nameOfCut: String? {
        guard let revocation = latest.revocation else { return nil }
        let end = billingFailure?.graceUntil ?? latest.paidUntil
        guard let end, revocation.signed >= end else { return revocation.name }
        let planned = billingFailure?.graceUntil != nil ? billingFailure?.graceGranted : latest.paidUntil
        return planned.map { String($0) }
    }

    /// The next instant, in ms, at which time alone changes what is to be told or shown; nil: none, or all are past.
    package func nextWake(after now: Int64, confirmation: ExpiryConfirmation) -> Int64? {
        [ending?.nextLook(after: now, confirmation), retryEndsAt].compactMap { $0 }.filter { $0 > now }.min()
    }

    private var endCertainty: AccessEnd.Certainty {
        if isEndConfirmed || expirationIntent != nil && billingFailure == nil { return .told }
        switch renewalObstacle {
        case .notRenewable, .revoked, .ended, .priceIncrease: return .told
        case .billingError, .switchedOff: return .foretold(renewalSigned ?? latest.firstSigned)
        case nil: return .silent
        }
    }

    private func endingReason(isCut: Bool) -> EventReason {
        // Of a grant, however it ended, and of what was bought for a time.
        if latest.transaction.grant != nil || latest.transaction.isBoughtOnce && !isCut { return .unsubscribe }
        if isCut, let revocation = latest.revocation {
            return revocation.kind == .refund ? .customerSupport : .unknown
        }
        switch expirationIntent {
        case 1: return .unsubscribe
        case 2: return .billingError
        case 3: return .priceIncrease
        case .some: return .unknown
        case nil: break
        }
        if billingFailure != nil { return .billingError }
        return autoRenewOffSince != nil ? .unsubscribe : .unknown
    }
}
