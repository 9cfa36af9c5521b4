import Subscriptions

/// What Apple makes of a subscription beside periods and switches.
extension Life {
    /// The same subscriber's subscription as Apple continues it under another original transaction id; not told yet.
    func migrated(to original: String, at: Int64) -> Life {
        var life = Life(original, product: product, price: price, token: token, account: account)
        life.addPeriod(from: at, to: at + period)
        life.transactions[0].previousOriginalTransactionID = self.original
        return life
    }

    /// Makes the latest period one of a year that is paid by the month.
    mutating func commit(period: Int64, of total: Int64 = 12) {
        transactions[transactions.count - 1].billingPlan = "MONTHLY"
        transactions[transactions.count - 1].commitment = TransactionFact.Commitment(
            billingPeriod: period, billingPeriods: total, expiresDate: expires + (total - period) * self.period,
            price: total * price)
        renewal.billingPlan = "MONTHLY"
        renewal.commitment = RenewalFact.Commitment(
            autoRenewStatus: renewal.commitment?.autoRenewStatus ?? 1, autoRenewProductID: product,
            billingPlan: "MONTHLY", renewalDate: expires + (total - period) * self.period, renewalPrice: total * price)
    }

    /// The customer cancels within a commitment: the next period renews still.
    mutating func commitmentOff(at: Int64) -> Telling {
        renewal.commitment?.autoRenewStatus = 0
        return notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", at: at)
    }

    mutating func commitmentOn(at: Int64) -> Telling {
        renewal.commitment?.autoRenewStatus = 1
        return notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", at: at)
    }
}
