import Base

/// Instants and amounts as people read them.
package enum DisplayText {
    /// `2026-11-21 01:02:03`, in UTC.
    package static func time(_ milliseconds: Int64) -> String {
        let text = Timestamp.text(milliseconds)
        return String(text.map { $0 == "T" ? " " : $0 }.filter { $0 != "Z" })
    }

    /// `for ever` without an end, else `until` it.
    package static func until(_ end: Int64?) -> String {
        end.map { "until \(time($0))" } ?? "forever"
    }

    /// `9.99 USD` that was paid for it, `0 USD` of what was free, `9.99 USD (the app's price, not signed)` of what an app
    /// posted; nil where no price is known.
    package static func price(of period: Period) -> String? {
        Holding.Price(of: period).map { "\(Money.text(milliunits: $0.amount)) \($0.currency)\(mark(of: period))" }
    }

    /// Tells a price that an app posted from Apple's.
    static func mark(of period: Period) -> String {
        period.transaction.isPriceSigned ? "" : " (the app's price, not signed)"
    }

    /// The same of what went back.
    static func refund(of period: Period) -> String? {
        guard let refund = period.refund, let currency = refund.currency else { return price(of: period) }
        return "\(Money.text(milliunits: refund.milliunits)) \(currency)\(mark(of: period))"
    }
}
