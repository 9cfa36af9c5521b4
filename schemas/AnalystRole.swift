/// The Postgres role of people and programs that read reports: the views of `entitled_reports`, and nothing else.
///
/// No process has it, so that it is no `DatabaseRole`: an operator gives it a login, or grants it to logins of analysts.
package enum AnalystRole {
    package static let name = "entitled_analyst"

    /// The schema of the views.
    package static let schema = "entitled_reports"

    /// Every view of the schema.
    package static let views = [
        "customers", "entitlements_now", "events", "freshness", "subscriptions", "transactions",
    ]

    /// The settings with which it logs in. A statement without end would keep Postgres from removing dead rows.
    static let settings: [(name: String, value: String)] = [
        ("statement_timeout", "15min"), ("idle_in_transaction_session_timeout", "60s"),
        ("default_transaction_read_only", "on"),
    ]
}
