import Base
import Postgres
import Subscriptions

/// From when on ends are confirmed, for purchases of any app.
package struct ExpiryConfirmationRule: Sendable {
    private let patience: Int64
    private let outages: [Range<Int64>]
    private let coverage: [AppScope: HistoryCoverage]
    /// Times whose history is not scanned yet, though it will be at any moment.
    private let unheard: [AppScope: Range<Int64>]

    /// Milliseconds all.
    package init(
        patience: Int64, outages: [Range<Int64>] = [], coverage: [AppScope: HistoryCoverage] = [:],
        unheard: [AppScope: Range<Int64>] = [:]
    ) {
        self.patience = patience
        self.outages = outages
        self.coverage = coverage
        self.unheard = unheard
    }

    /// As it is known now, in ms by the server's clock.
    package static func read(patience: Int64, now: Int64, on connection: PostgresConnection) throws
        -> ExpiryConfirmationRule
    {
        ExpiryConfirmationRule(
            patience: patience, outages: try IngestUptime.outages(now: now, on: connection),
            coverage: try HistoryCoverage.read(on: connection))
    }

    package func confirmation(of key: PurchaseKey) -> ExpiryConfirmation {
        let place = AppScope(app: key.app, environment: key.environment)
        return ExpiryConfirmation(
            patience: patience, outages: outages + (unheard[place].map { [$0] } ?? []),
            // Looked at each hour until then.
            covered: coverage[place]?.covered ?? (unheard[place] == nil ? nil : .min))
    }
}
