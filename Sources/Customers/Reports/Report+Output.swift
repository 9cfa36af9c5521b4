import Base
import Subscriptions

/// The report for programs. Amounts are exact decimals of the currency's unit, as texts.
extension Report {
    package var json: JSON {
        .object([
            "from": .date(total.from), "to": .date(total.to), "environment": .string(question.environment.rawValue),
            "app": .text(question.app), "by": .string(question.step.rawValue),
            "time_zone": .string(question.timeZone.text), "purchases": .int(purchases),
            "parts": .array(parts.map(\.json)), "total": total.json,
            "gross_method": .string(ReportDefinitions.gross), "mrr_method": .string(ReportDefinitions.mrr),
        ])
    }

    /// One line for each number, by part: RFC 4180, with a heading.
    package var csv: String {
        var table = CSVTable(["from", "to", "figure", "app", "product_id", "currency", "value"])
        for part in parts {
            let times = [Timestamp.text(part.from), Timestamp.text(part.to)]
            for what in ReportCount.allCases {
                table.add(times + ["counts.\(what.rawValue)", "", "", ""], number: "\(part.counts[what] ?? 0)")
            }
            for gauge in ReportGauge.allCases {
                table.add(times + ["at_end.\(gauge.rawValue)", "", "", ""], number: "\(part.gauges[gauge] ?? 0)")
            }
            for (product, money) in part.products {
                let names = [product.app, product.productID, product.currency ?? ""]
                for (figure, number) in money.figures(isPriced: product.currency != nil) {
                    table.add(times + ["revenue.\(figure)"] + names, number: number.text ?? "")
                }
            }
        }
        return table.text
    }
}

extension Report.Part {
    package var products: [(ReportProduct, ReportMoney)] {
        revenue.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    fileprivate var json: JSON {
        func members(_ money: ReportMoney, isPriced: Bool) -> [JSON.Member] {
            money.figures(isPriced: isPriced).map { JSON.Member(name: $0.0, value: $0.1.json) }
        }
        func counted<Key: RawRepresentable<String> & CaseIterable & Hashable>(_ numbers: [Key: Int64]) -> JSON {
            .object(Key.allCases.map { JSON.Member(name: $0.rawValue, value: .int(numbers[$0] ?? 0)) })
        }
        return .object([
            "from": .date(from), "to": .date(to), "counts": counted(counts), "at_end": counted(gauges),
            "currencies": .array(
                currencies.map { currency, money in
                    .object(
                        [JSON.Member(name: "currency", value: .text(currency))]
                            + members(money, isPriced: currency != nil))
                }),
            "revenue": .array(
                products.map { product, money in
                    .object(
                        [
                            JSON.Member(name: "app", value: .string(product.app)),
                            JSON.Member(name: "product_id", value: .string(product.productID)),
                            JSON.Member(name: "currency", value: .text(product.currency)),
                        ] + members(money, isPriced: product.currency != nil))
                }),
        ])
    }
}

/// A number of a kind of money.
private enum Figure {
    case count(Int64)
    /// Milliunits; nil where no price is known.
    case amount(Int64?)

    var json: JSON {
        switch self {
        case .count(let count): .int(count)
        case .amount: .text(text)
        }
    }

    var text: String? {
        switch self {
        case .count(let count): "\(count)"
        case .amount(let milliunits): milliunits.map(Money.text)
        }
    }
}

extension ReportMoney {
    fileprivate func figures(isPriced: Bool) -> [(String, Figure)] {
        func amount(_ milliunits: Int64) -> Figure { .amount(isPriced ? milliunits : nil) }
        return [
            ("payments", .count(payments)), ("gross", amount(gross)), ("refunds", .count(refunds)),
            ("refunded", amount(refunded)), ("net", amount(net)), ("mrr", amount(monthly)),
        ]
    }
}
