import Base
import Database
import Postgres
import Subscriptions

/// What consumers read of money.
enum MoneyChecks {
    static let all = [
        Check("money.currencies") { context, connection in try currencies(context, connection) }
    ]

    /// A few events of each lane, whatever they are: their ids are hashes, so that these are picked by chance, and always the
    /// same. At most 4096 rows are read.
    private static let sample = """
        SELECT e.body FROM entitled.lane l CROSS JOIN LATERAL (
            SELECT type, body FROM entitled.event WHERE lane = l.lane ORDER BY id LIMIT 16
        ) e
        WHERE e.type IN ('INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE') AND octet_length(e.body) > 0
        """

    private static func currencies(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let rates = DollarRates(millionths: context.configuration.webhooks.usdRates)
        var (payments, missing): (Int, [String: Int]) = (0, [:])
        for row in try connection.query(sample) {
            guard let currency = try paidCurrency(of: EventBodyCodec.restore(try row.bytes("body"))) else { continue }
            payments += 1
            if rates.milliunits(0, of: currency) == nil { missing[currency, default: 0] += 1 }
        }
        guard !missing.isEmpty else {
            return [
                .ok(payments == 0 ? "nothing was paid yet" : "there is a dollar rate for each of \(payments) payments")
            ]
        }
        let ordered = missing.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        let few = ordered.prefix(10).joined(separator: ", ") + (ordered.count > 10 ? ", …" : "")
        let part = "\(missing.values.reduce(0, +)) of \(payments) payments that were looked at"
        return [
            .warning(
                "no dollar rate for \(few): the price of \(part) is null in webhooks",
                "add the currencies to webhooks.usd_rates; existing events do not change")
        ]
    }

    /// Nil of what was free, of what has no price, and of what is no event.
    private static func paidCurrency(of body: [UInt8]) throws -> String? {
        let event = try? JSON(parsing: body)["event"]
        let isPaid =
            switch event?["price_in_purchased_currency"] {
            case .int(let amount): amount != 0
            case .double(let amount): amount != 0
            default: false
            }
        return isPaid ? event?["currency"]?.stringValue : nil
    }
}
