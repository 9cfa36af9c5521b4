import Base
import Customers
import Database
import Postgres
import Subscriptions

/// What was counted of all purchases for a scope: every chart of it follows from this.
package struct ChartReading: Sendable {
    package let tally: ChartTally
    /// What there is to ask for, of all purchases of the environment.
    package let products: [String]
    package let currencies: [String]
    package let countries: [String]

    /// Choices of a kind at most.
    private static let mostChoices = 300

    /// Reads the histories of all purchases of the environment.
    ///
    /// - Returns: nil where some are not computed yet.
    package static func read(_ scope: ChartScope, on connection: PostgresConnection) throws -> ChartReading? {
        var tally = ChartTally(scope.calendar, filter: scope.filter, now: scope.freshness.refreshed)
        var (products, currencies, countries): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        var cuts: Set<ReportHistory.Cut> = []
        var stream = ReportHistoryStream(environment: scope.environment)
        while let page = try stream.next(on: connection) {
            guard stream.missing == 0 else { return nil }
            for (app, bytes) in page {
                // Of another version: the next refresh computes it anew.
                guard ReportHistory.isReadable(bytes) else { return nil }
                let history = try ReportHistory(bytes: bytes)
                tally.add(history, of: app)
                var last: ReportHistory.Cut?
                for cut in history.stretches.map(\.cut) + history.payments.map(\.cut) where cut != last {
                    cuts.insert(cut)
                    last = cut
                }
            }
        }
        for cut in cuts {
            products.insert(cut.productID)
            if let currency = cut.currency { currencies.insert(currency) }
            if let country = cut.country { countries.insert(country) }
        }
        func few(_ texts: Set<String>) -> [String] { Array(texts.sorted().prefix(mostChoices)) }
        return ChartReading(
            tally: tally, products: few(products), currencies: few(currencies), countries: few(countries))
    }
}
