import Base
import Postgres

/// Subscriptions and money of production at a glance, from the tables of reports, and all customers: how many there are now,
/// and what came of the last 28 days.
package struct ReportOverview: Sendable, Equatable {
    /// Subscriptions that give access and are paid for, grace included; and those in a trial.
    package let subscriptions: Int64
    package let trials: Int64
    /// Monthly recurring revenue, as `entitled report` defines it; thousandths of a dollar.
    package let monthly: Int64
    /// Payments of the last 28 days less refunds of the last 28 days, thousandths of a dollar.
    package let revenue: Int64
    /// Payments of running periods and of the last 28 days whose currency has no rate: they are in neither amount.
    package let unconverted: Int64
    /// Customers who were first seen in the last 28 days, and whose apps asked in that time.
    package let newCustomers: Int64
    package let activeCustomers: Int64
    /// All changes from before it are in, ms since 1970.
    package let freshness: Int64

    /// ms.
    package static let window: Int64 = 28 * 86_400_000
    /// Of the statements, which read all rows; longer than the role lets others take.
    package static let patience = Duration.seconds(600)

    private static let settings = "SELECT set_config('statement_timeout', $1, true)"
    private static let isThere = "SELECT to_regclass('entitled.report_refresh') IS NOT NULL AS is_there"
    private static let freshness = "SELECT started_ms FROM entitled.report_refresh"

    /// What a period brings in a month, by the days that it may last: as `MonthlyRevenue`.
    private static let months = """
        CASE WHEN days < 16 THEN 1461 / 336.0 WHEN days < 46 THEN 1 WHEN days < 76 THEN 1 / 2.0
            WHEN days < 136 THEN 1 / 3.0 WHEN days < 274 THEN 1 / 6.0 ELSE 1 / 12.0 END
        """

    private static let money = """
        SELECT count(DISTINCT (app, original_transaction_id)) FILTER (WHERE is_running AND NOT is_trial) AS subscriptions,
            count(DISTINCT (app, original_transaction_id)) FILTER (WHERE is_running AND is_trial) AS trials,
            coalesce(round(sum(price_usd_milliunits * \(months)) FILTER (WHERE is_paid)), 0)::int8 AS monthly,
            (coalesce(sum(price_usd_milliunits) FILTER (WHERE is_new), 0)
                - coalesce(sum(price_usd_milliunits - net_usd_milliunits) FILTER (WHERE refunded_ms BETWEEN $2 AND $1), 0)
            )::int8 AS revenue,
            count(*) FILTER (WHERE (is_paid OR is_new) AND price_milliunits > 0
                AND price_usd_milliunits IS NULL) AS unconverted
        FROM (
            SELECT *, is_running AND NOT is_trial AND NOT is_refunded AND expires_ms > $1 AS is_paid FROM (
                SELECT *, refunded_ms IS NOT NULL AS is_refunded, period_type = 'TRIAL' AS is_trial,
                    purchased_ms BETWEEN $2 AND $1 AS is_new,
                    (expires_ms - purchased_ms) / 86400000 AS days,
                    expires_ms IS NOT NULL AND NOT is_family_share AND NOT is_upgraded AND purchased_ms <= $1
                        AND access_ends_ms > $1
                        AND product_type NOT IN ('Consumable', 'Non-Consumable', 'Non-Renewing Subscription')
                        AS is_running
                FROM entitled.report_transaction
                WHERE environment = 0 AND app <> '$promotional'
                    AND (access_ends_ms > $1 OR purchased_ms >= $2 OR refunded_ms >= $2)
            ) t
        ) t
        """

    private static let customers = """
        SELECT count(*) FILTER (WHERE first_seen_ms >= $1) AS new,
            count(*) FILTER (WHERE last_seen_ms >= $1 OR first_seen_ms >= $1) AS active
        FROM entitled.customer
        """

    /// Reads the tables of reports as wholes.
    ///
    /// - Parameters:
    ///   - now: ms since 1970.
    ///   - patience: of each statement.
    /// - Returns: nil where no worker has filled the tables.
    package static func read(
        now: Int64, within patience: Duration = ReportOverview.patience, on connection: PostgresConnection
    ) throws -> ReportOverview? {
        try connection.transaction {
            _ = try connection.query(settings, [.text("\(patience.components.seconds)s")])
            guard try connection.query(isThere).one().bool("is_there"),
                let freshness = try connection.query(freshness).first?.optionalInt("started_ms")
            else { return nil }
            let begin = max(0, now) - window
            let money = try connection.query(money, [.int8(now), .int8(begin)]).one()
            let customers = try connection.query(customers, [.int8(begin)]).one()
            return ReportOverview(
                subscriptions: try money.int("subscriptions"), trials: try money.int("trials"),
                monthly: try money.int("monthly"), revenue: try money.int("revenue"),
                unconverted: try money.int("unconverted"), newCustomers: try customers.int("new"),
                activeCustomers: try customers.int("active"), freshness: freshness)
        }
    }
}
