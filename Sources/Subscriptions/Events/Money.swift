import Base

/// Amounts as Apple signs them: thousandths of the currency unit. No binary fraction ever touches them.
package enum Money {
    /// The exact decimal of milliunits as a JSON number: 9990 is `9.99`, 499000 is `499`.
    package static func number(milliunits: Int64) -> JSON {
        .raw(Array(text(milliunits: milliunits).utf8))
    }

    /// The same as a text.
    package static func text(milliunits: Int64) -> String {
        let (whole, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        let sign = milliunits < 0 ? "-" : ""
        guard rest != 0 else { return "\(sign)\(whole)" }
        var fraction = String(rest)
        fraction = String(repeating: "0", count: 3 - fraction.count) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(sign)\(whole).\(fraction)"
    }
}

/// What units of currencies are worth in US dollars, where the operator says so.
package struct DollarRates: Sendable, Equatable {
    private let millionths: [String: Int64]

    /// - Parameter millionths: millionths of a dollar per unit, by ISO 4217 code.
    package init(millionths: [String: Int64] = [:]) {
        self.millionths = millionths
    }

    /// A text that two rates share only if they are the same.
    package var stamp: String { millionths.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ") }

    /// Thousandths of a dollar, cut off; nil without a rate, or beyond what can be said.
    package func milliunits(_ amount: Int64, of currency: String) -> Int64? {
        if currency == "USD" { return amount }
        guard let rate = millionths[currency] else { return nil }
        let (product, overflow) = amount.multipliedReportingOverflow(by: rate)
        return overflow ? nil : product / 1_000_000
    }
}

/// A part of an amount, exact to a millionth.
package struct Share: Sendable, Hashable {
    /// 0 to 1,000,000.
    package let millionths: Int64

    /// - Parameter millionths: cut to what a share can be.
    package init(millionths: Int64) {
        self.millionths = min(max(millionths, 0), Share.whole.millionths)
    }

    private init(unchecked millionths: Int64) { self.millionths = millionths }

    package static let none = Share(unchecked: 0)
    package static let whole = Share(unchecked: 1_000_000)

    /// What this leaves of the whole.
    package var rest: Share { Share(millionths: Share.whole.millionths - millionths) }

    /// The share of a share, to the nearest millionth.
    package static func * (left: Share, right: Share) -> Share {
        Share(millionths: (left.millionths * right.millionths + whole.millionths / 2) / whole.millionths)
    }

    /// The exact decimal as a JSON number: 150000 is `0.15`.
    package var number: JSON {
        guard millionths % Share.whole.millionths != 0 else { return .int(millionths / Share.whole.millionths) }
        var digits = String(millionths)
        digits = String(repeating: "0", count: 6 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return .raw(Array("0.\(digits)".utf8))
    }
}
