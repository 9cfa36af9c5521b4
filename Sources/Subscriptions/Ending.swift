/// The end of a purchase's access that its facts foretell.
package struct Ending: Sendable, Equatable {
    /// When access ends, in ms.
    package let instant: Int64
    /// The period that ends with it.
    package let period: Period
    /// The signed instant that names this end, in ms: expiry, end of grace or revocation. Two looks at the same end
    /// find the same name.
    package let name: Int64
    package let reason: EventReason
    /// Nothing could renew it any more. Otherwise only patience tells that no renewal came.
    package let isCertain: Bool

    /// From when on it may be told, in ms.
    ///
    /// - Parameter patience: ms to wait for the news of a renewal that should come.
    package func believed(patience: Int64) -> Int64 {
        isCertain ? instant : instant.later(by: patience)
    }
}

extension Purchase {
    /// Nil if access never ends, or ends without being told: a refund of what was bought once is told as such only.
    package var ending: Ending? {
        guard let end = accessUntil else { return nil }
        if latest.transaction.expiresDate == nil, latest.revocation?.kind != .family { return nil }
        let isCut = latest.wasCutShort
        let grace = graceUntil != nil ? billingFailure?.graceGranted : nil
        let isLatestEnding = grace != nil || latest.accessUntil == end
        let period = isLatestEnding ? latest : (periods.last { $0.accessUntil == end } ?? latest)
        let name: Int64
        if isLatestEnding {
            name = isCut ? latest.revocation?.date ?? end : grace ?? latest.paidUntil ?? end
        } else {
            name = end
        }
        return Ending(
            instant: end, period: period, name: name, reason: endingReason(isCut: isCut), isCertain: isEndCertain)
    }

    /// The next instant, in ms, at which time alone ends access, and that has to be told; nil: none, or it is past.
    package func nextWake(after now: Int64, patience: Int64) -> Int64? {
        guard let believed = ending?.believed(patience: patience), believed > now else { return nil }
        return believed
    }

    private var isEndCertain: Bool {
        isEndConfirmed || renewalObstacle != nil
    }

    private func endingReason(isCut: Bool) -> EventReason {
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
