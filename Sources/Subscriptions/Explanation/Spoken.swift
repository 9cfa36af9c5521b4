import Base

/// Instants and amounts as people read them.
package enum Spoken {
    /// `2026-11-21 01:02:03`, in UTC.
    package static func time(_ milliseconds: Int64) -> String {
        let text = Timestamp.text(milliseconds)
        return String(text.map { $0 == "T" ? " " : $0 }.filter { $0 != "Z" })
    }

    /// `for ever` without an end, else `until` it.
    package static func until(_ end: Int64?) -> String {
        end.map { "until \(time($0))" } ?? "for ever"
    }

    /// `9.99 USD`; nil where nothing was signed.
    package static func price(of transaction: TransactionFact) -> String? {
        guard let amount = transaction.price, let currency = transaction.currency else { return nil }
        return "\(Money.number(milliunits: amount).text) \(currency)"
    }
}
