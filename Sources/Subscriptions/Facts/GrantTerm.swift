/// When a grant ends, as it was asked for.
package enum GrantTerm: Sendable, Equatable {
    /// It is given now in any case; `from`, in ms, is what the end is counted from.
    case lasting(GrantDuration, from: Int64? = nil)
    /// In ms.
    case until(Int64)

    /// The last instant that documents can write: the end of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999
    /// The same asked for again within this time, in ms, is a repetition (RevenueCat does so too).
    package static let repetition: Int64 = 2 * .hour

    /// In ms; nil: never.
    package func end(now: Int64) -> Int64? {
        switch self {
        case .lasting(let duration, let from): duration.end(after: from ?? now)
        case .until(let end): end
        }
    }

    /// Why nothing can be granted for it, to complete "the grant "; nil if it can.
    package func objection(now: Int64) -> String? {
        if case .lasting(_, let from?) = self, !(0...GrantTerm.latest).contains(from) {
            return "begins at no time between 1970 and the year 9999"
        }
        guard let end = end(now: now) else { return nil }
        if end <= now { return "would have ended before it begins" }
        return end > GrantTerm.latest ? "would end after the year 9999" : nil
    }

    /// `rc_promo_<entitlement>_<duration>`; `custom` where only the end was named.
    package func product(of entitlement: String) -> String {
        switch self {
        case .lasting(let duration, _): "rc_promo_\(entitlement)_\(duration.rawValue)"
        case .until: "rc_promo_\(entitlement)_custom"
        }
    }

    /// Whether asking for it now is asking again for a grant that was given shortly before.
    package func isRepetition(of grant: Grant, _ entitlement: String, now: Int64) -> Bool {
        guard grant.product == product(of: entitlement), grant.entitlement == entitlement, grant.isRunning(at: now),
            now < grant.start.later(by: GrantTerm.repetition)
        else { return false }
        switch self {
        case .lasting(let duration, nil): return grant.end == duration.end(after: grant.start)
        case .lasting, .until: return grant.end == end(now: now)
        }
    }
}
