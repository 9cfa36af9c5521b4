/// A refund that consumers are to know of.
struct ToldRefund: Equatable {
    /// Tells it apart from the other refunds of its transaction.
    let name: String
    /// What went back; nil of what was free.
    let charge: Charge?
}

extension Purchase {
    /// The refund of a period that consumers are to know of; nil where none stands, and where it is not told: of a period
    /// that an upgrade replaced, and of one that another had followed when money went back.
    ///
    /// A function of the facts alone. Events tell its changes, so that they add up to it in every order of hearing.
    func toldRefund(of period: Period) -> ToldRefund? {
        guard let revocation = period.revocation, revocation.kind == .refund, !isUntold(revocation, of: period) else {
            return nil
        }
        return ToldRefund(name: revocation.name, charge: period.refund)
    }

    /// By when the refund took effect, not by when it was signed: older and newer signatures of it may still come.
    private func isUntold(_ refund: Period.Revocation, of period: Period) -> Bool {
        guard period.transaction.isRenewable else { return false }
        guard !period.transaction.isUpgraded else { return true }
        // A later period that only a renewal info tells of; when it began shows when its transaction comes.
        if period.id == latest.id, let laterPeriodSigned,
            laterPeriodSigned <= refund.signed.later(by: Period.signingSlack)
        {
            return true
        }
        return periods.contains { $0.follows(period) && $0.begun <= refund.firstDate }
    }
}

extension Period {
    /// Whether it came after the other one: what gave way to that did not.
    fileprivate func follows(_ other: Period) -> Bool {
        guard number > other.number, transaction.isRenewable else { return false }
        let gaveWay = transaction.isUpgraded && (other.transaction.expiresDate ?? .max) > transaction.purchaseDate
        return !gaveWay
    }

    /// Since when it is known to have been there, in ms: Apple charges for a renewal up to a day ahead.
    fileprivate var begun: Int64 { Swift.min(firstSigned, transaction.purchaseDate) }
}
