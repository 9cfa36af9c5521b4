import Base
import Charts
import Customers
import Database
import Subscriptions

/// A chart with its question.
package struct ChartAnswer: DeskAnswer {
    package let name: ChartName
    package let scope: ChartScope
    /// Name of the zone in which days begin.
    package let zone: String
    package let chart: Chart
    package let products: [String]
    package let currencies: [String]
    package let countries: [String]

    package var json: JSON {
        .object([
            "name": .string(name.rawValue), "title": .string(name.title), "form": .string(chart.form.rawValue),
            "from": .date(scope.calendar.from), "to": .date(scope.calendar.to), "by": .string(scope.step.rawValue),
            "time_zone": .string(zone), "environment": .string(scope.environment.rawValue),
            "product": .text(scope.filter.productID), "country": .text(scope.filter.country),
            "currency": .text(scope.filter.currency), "refreshed_at": .date(scope.freshness.refreshed),
            "failed_purchases": .int(scope.freshness.failed),
            "series": .array(chart.series.map(\.json)),
            "tables": .array(chart.tables.map { ChartAnswer.json($0, chart.series) }),
            "definitions": .array(
                name.definitions.map { .object(["name": .string($0.name), "meaning": .string($0.meaning)]) }),
        ])
    }

    private static func json(_ table: Chart.Table, _ series: [Chart.Series]) -> JSON {
        let rows = table.rows.map { row -> JSON in
            let values = zip(row.values, series).map { json($0, $1.unit, table.currency) }
            return .object([
                "label": .string(row.label), "from": .date(row.from), "to": .date(row.to), "values": .array(values),
            ])
        }
        return .object(["currency": .text(table.currency), "rows": .array(rows)])
    }

    /// Counts are numbers; amounts and per cents exact decimals, as texts.
    private static func json(_ value: Int64?, _ unit: Chart.Unit, _ currency: String?) -> JSON {
        guard let value else { return .null }
        return unit == .count ? .int(value) : .string(Chart.text(value, unit, currency: currency))
    }

    /// The same rows: RFC 4180, with a heading.
    package var csv: String {
        var lines = [CSVTable.line(["label", "from", "to", "currency"] + chart.series.map(\.name))]
        for table in chart.tables {
            for row in table.rows {
                lines.append(
                    CSVTable.line(
                        [row.label, Timestamp.text(row.from), Timestamp.text(row.to), table.currency ?? ""],
                        numbers: zip(row.values, chart.series).map { value, series in
                            value.map { Chart.text($0, series.unit, currency: table.currency) } ?? ""
                        }))
            }
        }
        return lines.joined()
    }
}

extension Chart.Series {
    fileprivate var json: JSON {
        .object([
            "name": .string(name), "label": .string(label), "unit": .string(unit.rawValue),
            "place": .string(place.rawValue),
        ])
    }
}
