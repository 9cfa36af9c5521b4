import Base
import Postgres
import Subscriptions

/// From when on ends are believed, for purchases of any app.
package struct EndBeliefs: Sendable {
    private let patience: Int64
    private let outages: [Range<Int64>]
    private let coverage: [AppEnvironment: HistoryCoverage]
    /// Times whose history nobody has looked through yet, though it will be at any moment.
    private let unheard: [AppEnvironment: Range<Int64>]

    /// Milliseconds all.
    package init(
        patience: Int64, outages: [Range<Int64>] = [], coverage: [AppEnvironment: HistoryCoverage] = [:],
        unheard: [AppEnvironment: Range<Int64>] = [:]
    ) {
        self.patience = patience
        self.outages = outages
        self.coverage = coverage
        self.unheard = unheard
    }

    /// As it is known now, in ms by the server's clock.
    package static func read(patience: Int64, now: Int64, on connection: PostgresConnection) throws -> EndBeliefs {
        EndBeliefs(
            patience: patience, outages: try Listening.outages(now: now, on: connection),
            coverage: try HistoryCoverage.read(on: connection))
    }

    package func belief(of key: PurchaseKey) -> EndBelief {
        let place = AppEnvironment(app: key.app, environment: key.environment)
        return EndBelief(
            patience: patience, outages: outages + (unheard[place].map { [$0] } ?? []),
            // Looked at each hour until then.
            covered: coverage[place]?.covered ?? (unheard[place] == nil ? nil : .min))
    }
}
