/// Amounts for people, with the digits of their currency; documents and events have `Money.text(milliunits:)`.
extension Money {
    /// Digits after the point by ISO 4217, where there are not two. The four of CLF and UYW are beyond milliunits.
    private static let digits: [String: Int] = {
        let none = [
            "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF",
            "XOF", "XPF",
        ]
        let three = ["BHD", "CLF", "IQD", "JOD", "KWD", "LYD", "OMR", "TND", "UYW"]
        return Dictionary(uniqueKeysWithValues: none.map { ($0, 0) } + three.map { ($0, 3) })
    }()

    /// `4.80` of `EUR`, `500` of `JPY`; exact: digits that the currency does not have are kept where they are not zero.
    package static func text(milliunits: Int64, currency: String) -> String {
        let wanted = digits[currency] ?? 2
        let exact = text(milliunits: milliunits)
        let parts = exact.split(separator: ".")
        let fraction = parts.count > 1 ? parts[1] : ""
        let padded = fraction + String(repeating: "0", count: max(0, wanted - fraction.count))
        return padded.isEmpty ? exact : "\(parts[0]).\(padded)"
    }

    /// The same of an amount that was computed, such as a part of a price: rounded to the digits of the currency.
    package static func rounded(milliunits: Int64, currency: String) -> String {
        let unit: Int64 =
            switch digits[currency] ?? 2 {
            case 0: 1000
            case 2: 10
            default: 1
            }
        let (quotient, rest) = milliunits.quotientAndRemainder(dividingBy: unit)
        let up: Int64 = rest.magnitude * 2 >= UInt64(unit) && rest != 0 ? rest.signum() : 0
        return text(milliunits: (quotient + up).multipliedReportingOverflow(by: unit).partialValue, currency: currency)
    }
}

extension DisplayText {
    /// `9.99 USD` that was paid for a period, `0.00 USD` of what was free, with a mark where an app posted the price; nil where no
    /// price is known.
    package static func amount(of period: Period) -> String? {
        Holding.Price(of: period).map {
            "\(Money.text(milliunits: $0.amount, currency: $0.currency)) \($0.currency)\(mark(of: period))"
        }
    }
}
