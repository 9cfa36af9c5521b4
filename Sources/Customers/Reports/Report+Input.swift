import Base
import Subscriptions

/// A report that another process counted, from what it wrote for programs.
extension Report {
    /// Nil for what is no report.
    package init?(json: JSON) {
        guard let environment = json["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:)),
            let step = json["by"]?.stringValue.flatMap(ReportCalendar.Step.init(rawValue:)),
            let zone = json["time_zone"]?.stringValue.flatMap({ TimeZoneName($0) }),
            let purchases = json["purchases"]?.intValue,
            let parts = json["parts"]?.arrayValue?.map({ Part(json: $0) }),
            let total = json["total"].flatMap({ Part(json: $0) })
        else { return nil }
        let read = parts.compactMap(\.self)
        guard read.count == parts.count else { return nil }
        self.init(
            question: ReportQuestion(
                app: json["app"]?.stringValue, environment: environment, step: step, timeZone: zone),
            parts: read, total: total, purchases: purchases)
    }
}

extension Report.Part {
    fileprivate init?(json: JSON) {
        func counted<Key: RawRepresentable<String> & CaseIterable & Hashable>(_ name: String, _: Key.Type) -> [Key:
            Int64]?
        {
            guard let numbers = json[name] else { return nil }
            return Key.allCases.reduce(into: [:]) { all, key in all[key] = numbers[key.rawValue]?.intValue ?? 0 }
        }
        guard let from = json["from"]?.stringValue.flatMap(Timestamp.parse),
            let to = json["to"]?.stringValue.flatMap(Timestamp.parse),
            let counts = counted("counts", ReportCount.self), let gauges = counted("at_end", ReportGauge.self),
            let rows = json["revenue"]?.arrayValue
        else { return nil }
        var revenue: [ReportProduct: ReportMoney] = [:]
        for row in rows {
            guard let app = row["app"]?.stringValue, let product = row["product_id"]?.stringValue,
                let money = ReportMoney(json: row)
            else { return nil }
            revenue[ReportProduct(app: app, productID: product, currency: row["currency"]?.stringValue)] = money
        }
        self.init(from: from, to: to, counts: counts, gauges: gauges, revenue: revenue)
    }
}

extension ReportMoney {
    fileprivate init?(json: JSON) {
        guard let payments = json["payments"]?.intValue, let refunds = json["refunds"]?.intValue else { return nil }
        self.init()
        (self.payments, self.refunds) = (payments, refunds)
        // Without a price there are no amounts.
        guard json["currency"]?.stringValue != nil else { return }
        let amounts = ["gross", "refunded", "mrr"].map { json[$0]?.stringValue.flatMap(ReportMoney.milliunits) }
        guard let gross = amounts[0], let refunded = amounts[1], let monthly = amounts[2] else { return nil }
        (self.gross, self.refunded, self.monthly) = (gross, refunded, monthly)
    }

    /// Of a decimal number with three places at most.
    private static func milliunits(_ text: String) -> Int64? {
        let sign: Int64 = text.hasPrefix("-") ? -1 : 1
        let sides = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        guard sides.count <= 2, let whole = Int64(sides[0]), whole >= 0 else { return nil }
        let places = sides.count == 2 ? String(sides[1]) : ""
        guard places.count <= 3, let part = Int64(places.padding(to: 3)), part >= 0 else { return nil }
        let (milliunits, overflow) = whole.multipliedReportingOverflow(by: 1000)
        guard !overflow, milliunits <= .max - part else { return nil }
        return sign * (milliunits + part)
    }
}

extension String {
    /// With zeros behind it.
    fileprivate func padding(to length: Int) -> String { self + String(repeating: "0", count: length - count) }
}
