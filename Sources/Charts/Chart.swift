import Base
import Subscriptions

/// Numbers over time: a table, which is the truth, and how it is drawn.
package struct Chart: Sendable, Equatable {
    package enum Form: String, Sendable, CaseIterable {
        /// Series as lines.
        case line
        /// Series on top of each other, and below zero what is lost.
        case stack
        /// A row for each cohort; the share of its first column in all others.
        case heat
    }

    package enum Unit: String, Sendable, CaseIterable {
        case count
        /// Thousandths of the unit of the table's currency.
        case money
        /// Hundredths of a per cent.
        case percent
    }

    /// How a series is drawn.
    package enum Place: String, Sendable, CaseIterable {
        /// As a line, or above zero.
        case above
        /// Below zero, of a stack.
        case below
        /// It is in the table alone.
        case none
    }

    package struct Series: Sendable, Equatable {
        package let name: String
        package let label: String
        package let unit: Unit
        package let place: Place

        package init(_ name: String, _ label: String, _ unit: Unit = .count, _ place: Place = .above) {
            (self.name, self.label, self.unit, self.place) = (name, label, unit, place)
        }
    }

    package struct Row: Sendable, Equatable {
        /// Its beginning by the clocks of the zone: `2026-05` for a whole month, else a day.
        package let label: String
        /// ms since 1970, in it.
        package let from: Int64
        /// ms since 1970, no more in it.
        package let to: Int64
        /// One for each series; nil: there is none.
        package let values: [Int64?]

        package init(label: String, from: Int64, to: Int64, values: [Int64?]) {
            (self.label, self.from, self.to, self.values) = (label, from, to, values)
        }
    }

    package struct Table: Sendable, Equatable {
        /// ISO 4217, of money; nil: all currencies, or payments without a price.
        package let currency: String?
        package let rows: [Row]

        package init(currency: String? = nil, rows: [Row]) {
            (self.currency, self.rows) = (currency, rows)
        }
    }

    package let name: String
    package let title: String
    package let form: Form
    package let series: [Series]
    package let tables: [Table]

    package init(_ name: String, _ title: String, _ form: Form, series: [Series], tables: [Table]) {
        (self.name, self.title, self.form, self.series, self.tables) = (name, title, form, series, tables)
    }

    /// A value as it is shown everywhere: exact, money with the digits of its currency, per cent with two.
    ///
    /// - Parameter currency: that of the table.
    package static func text(_ value: Int64, _ unit: Unit, currency: String?) -> String {
        switch unit {
        case .count: String(value)
        case .money: currency.map { Money.text(milliunits: value, currency: $0) } ?? Money.text(milliunits: value)
        case .percent: hundredths(value)
        }
    }

    private static func hundredths(_ value: Int64) -> String {
        let (whole, rest) = value.magnitude.quotientAndRemainder(dividingBy: 100)
        return "\(value < 0 ? "-" : "")\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }

    /// One number of a hundred times a hundred parts of another one; nil of none.
    package static func percent(_ part: Int64, of whole: Int64) -> Int64? {
        guard whole > 0, part >= 0 else { return nil }
        let doubled = Int128(part) * 20_000 + Int128(whole)
        return Int64(clamping: doubled / (2 * Int128(whole)))
    }
}
