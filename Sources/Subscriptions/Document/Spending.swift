import Base

/// What a customer spent: what was paid, what of it went back, by environment and currency. Pure.
package struct Spending: Sendable, Equatable {
    package struct Total: Sendable, Equatable {
        package let environment: StoreEnvironment
        /// Nil: Apple signed no price, so that only the numbers are known.
        package let currency: String?
        /// Transactions that cost something.
        package fileprivate(set) var payments: Int64 = 0
        /// Milliunits.
        package fileprivate(set) var paid: Int64 = 0
        package fileprivate(set) var refunds: Int64 = 0
        /// Milliunits.
        package fileprivate(set) var refunded: Int64 = 0
        /// Milliunits.
        package var net: Int64 { paid - refunded }
    }

    /// By environment, production first, then currency; what has no price comes last.
    package let totals: [Total]

    /// - Parameter purchases: folded; those that the App Store did not sell are left out.
    package init(_ purchases: some Sequence<Purchase>) {
        var totals: [[String?]: Total] = [:]
        for purchase in purchases where purchase.key.isOfStore {
            let environment = purchase.key.environment
            for period in purchase.periods {
                guard let charge = period.signedCharge else { continue }
                let place = [environment.rawValue, charge.currency]
                var total = totals[place] ?? Total(environment: environment, currency: charge.currency)
                total.payments += 1
                total.paid = total.paid.addingClamped(charge.milliunits)
                if let refund = period.signedRefund {
                    total.refunds += 1
                    total.refunded = total.refunded.addingClamped(refund.milliunits)
                }
                totals[place] = total
            }
        }
        self.totals = totals.values.sorted {
            ($0.environment, $0.currency ?? "\u{10FFFF}") < ($1.environment, $1.currency ?? "\u{10FFFF}")
        }
    }

    /// Amounts are exact decimals of the currency's unit, as texts; null where no price was signed.
    package var json: JSON {
        .array(
            totals.map { total in
                func amount(_ milliunits: Int64) -> JSON {
                    total.currency == nil ? .null : .string(Money.text(milliunits: milliunits))
                }
                return .object([
                    "environment": .string(total.environment.rawValue), "currency": .text(total.currency),
                    "payments": .int(total.payments), "paid": amount(total.paid), "refunds": .int(total.refunds),
                    "refunded": amount(total.refunded), "net": amount(total.net),
                ])
            })
    }
}

extension Int64 {
    /// Sums of amounts must not trap, whatever was signed.
    package func addingClamped(_ other: Int64) -> Int64 { later(by: other) }
}
