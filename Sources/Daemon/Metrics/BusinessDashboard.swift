/// What a seller looks at: subscriptions, money, and what happens to them.
extension Dashboard {
    package static let business = Dashboard(
        title: "entitled: subscriptions", uid: "entitled-business", rows: [standing, happening])

    private static func count(_ selector: String, by labels: String = "") -> String {
        let sum = labels.isEmpty ? "sum" : "sum by (\(labels))"
        return "\(sum) (increase(\(Metric.events.name)\(selector)[1h]))"
    }

    private static let standing = Row(
        title: "Subscriptions and money, as of the last refresh of reports",
        panels: [
            .number(
                "Paid subscriptions", "max(\(Metric.subscriptions.name){state=\"paid\"})",
                "In production, with access, grace included. Empty where reports.refresh is off."),
            .number(
                "Trials", "max(\(Metric.subscriptions.name){state=\"trial\"})", "In production, running now."),
            .number(
                "MRR", "max(\(Metric.monthlyRevenue.name))", unit: "currencyUSD",
                "Monthly recurring revenue. Currencies without a rate are left out."),
            .graph(
                "Subscriptions", unit: "short", "In production, over time.",
                ("max by (state) (\(Metric.subscriptions.name))", "{{state}}")),
            .graph(
                "MRR over time", unit: "currencyUSD", "Monthly recurring revenue.",
                ("max(\(Metric.monthlyRevenue.name))", "MRR")),
        ])

    private static let happening = Row(
        title: "What happens, in events of an hour",
        panels: [
            .graph(
                "Events by type", unit: "short", "Production and sandbox together.",
                (count("", by: "type"), "{{type}}")),
            .graph(
                "Purchases and renewals", unit: "short",
                "First purchases of subscriptions, renewals, and other purchases.",
                (count(#"{type=~"INITIAL_PURCHASE|RENEWAL|NON_RENEWING_PURCHASE"}"#, by: "type"), "{{type}}")),
            .graph(
                "Refunds", unit: "short", "Refunds by Apple, and refunds that Apple took back.",
                (count(#"{type="CANCELLATION", reason="CUSTOMER_SUPPORT"}"#), "refunds"),
                (count(#"{type="REFUND_REVERSED"}"#), "reversed")),
            .graph(
                "Leaving and staying", unit: "short",
                "Renewal switched off and on again, by reason; a billing issue may end well.",
                (count(#"{type="CANCELLATION", reason!="CUSTOMER_SUPPORT"}"#, by: "reason"), "cancelled {{reason}}"),
                (count(#"{type="UNCANCELLATION"}"#), "uncancelled"),
                (count(#"{type="BILLING_ISSUE"}"#), "billing issue")),
            .graph(
                "Ends of access", unit: "short", "By reason.",
                (count(#"{type="EXPIRATION"}"#, by: "reason"), "{{reason}}")),
        ])
}
