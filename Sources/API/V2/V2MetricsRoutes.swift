import Base
import Database
import HTTP
import Subscriptions

/// `metrics/overview` of REST v2: subscriptions, trials and money of production, and customers.
struct V2MetricsRoutes: Sendable {
    let reader: OverviewReader

    var routes: [APIRoute] {
        [
            APIRoute("GET", "/v2/projects/{project_id}/metrics/overview", .secretKey(.read)) { call in
                _ = try call.project()
                if let currency = try V2List.fields(call)["currency"], currency != "USD" {
                    throw APIError.badRequest("Amounts are in USD only.", parameter: "currency")
                }
                switch reader.reading() {
                case .overview(let overview): return .response(.document(200, Self.document(overview)))
                case .absent:
                    throw APIError.notFound(
                        "There are no metrics: `reports.refresh` is off in the configuration of the workers, or the"
                            + " first refresh has not finished."
                    )
                case .notYet: throw APIError.unavailable("The metrics are being computed; retry the request.")
                }
            }
        ]
    }

    /// With the ids that RevenueCat has.
    static func document(_ overview: ReportOverview) -> JSON {
        let rest =
            overview.unconverted == 0
            ? "" : ", without \(overview.unconverted) payments in currencies that have no rate"
        func metric(
            _ id: String, _ name: String, _ description: String, _ value: JSON, unit: String = "#", isNow: Bool = false
        ) -> JSON {
            .object([
                "description": .string(description), "id": .string(id), "last_updated_at": .int(overview.freshness),
                "last_updated_at_iso8601": .date(overview.freshness), "name": .string(name),
                "object": .string("overview_metric"), "period": .string(isNow ? "P0D" : "P28D"), "unit": .string(unit),
                "value": value,
            ])
        }
        func dollars(_ amount: Int64) -> JSON { Money.number(milliunits: amount) }
        return .object([
            "metrics": .array([
                metric("active_trials", "Active Trials", "In total", .int(overview.trials), isNow: true),
                metric(
                    "active_subscriptions", "Active Subscriptions", "In total", .int(overview.subscriptions),
                    isNow: true),
                metric(
                    "mrr", "MRR", "Monthly recurring revenue\(rest)", dollars(overview.monthly), unit: "$", isNow: true),
                metric("revenue", "Revenue", "Last 28 days\(rest)", dollars(overview.revenue), unit: "$"),
                metric("new_customers", "New Customers", "Last 28 days", .int(overview.newCustomers)),
                metric("active_users", "Active Customers", "Last 28 days", .int(overview.activeCustomers)),
            ]), "object": .string("overview_metrics"),
        ])
    }
}
