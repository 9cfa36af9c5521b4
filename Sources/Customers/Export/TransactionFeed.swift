import Base
import Database
import Postgres
import Subscriptions

/// Every transaction of purchases that changed in a time, as rows of RevenueCat's scheduled export. In one snapshot, and in
/// the memory of some hundred purchases.
package struct TransactionFeed: Sendable {
    private let app: String?
    private let environment: StoreEnvironment?
    private let changed: Range<Int64>
    private let terms: TransactionRow.Terms
    private let foldSettings: FoldSettings

    /// - Parameters:
    ///   - app: nil: all, and what the seller granted.
    ///   - environment: nil: both.
    ///   - changed: in which purchases changed last, in ms.
    ///   - foldSettings: what the configuration adds to facts.
    package init(
        app: String?, environment: StoreEnvironment? = nil, changed: Range<Int64>, terms: TransactionRow.Terms,
        foldSettings: FoldSettings
    ) {
        self.app = app
        self.environment = environment
        self.changed = changed
        self.terms = terms
        self.foldSettings = foldSettings
    }

    /// - Parameters:
    ///   - progress: gets the part that is done, from 0 to 1, and the rows so far.
    ///   - write: gets some rows at a time.
    /// - Returns: how many rows there are.
    package func run(
        on connection: PostgresConnection, progress: (Double, Int64) -> Void, write: ([[String]]) throws -> Void
    ) throws -> Int64 {
        try connection.transaction(opening: [FeedSnapshot.isolation]) { _ in
            var pages = PurchasePages(app: app, environment: environment, changed: changed)
            var count: Int64 = 0
            while let page = try pages.next(on: connection) {
                let customers = try CustomerTable.load(Set(page.map(\.owner)), on: connection)
                for part in try FactBatches.split(page.map(\.key), on: connection) {
                    let facts = try FactTable.load(page[part].map(\.key), on: connection)
                    let rows = zip(page[part], facts).flatMap { self.rows($0, $1, customers[$0.owner]) }
                    count += Int64(rows.count)
                    if !rows.isEmpty { try write(rows.map(\.fields)) }
                }
                progress(Double(pages.lane) / Double(Lane.count), count)
            }
            return count
        }
    }

    private func rows(_ item: PurchasePages.Item, _ facts: PurchaseFacts, _ customer: Customer?) -> [TransactionRow] {
        guard let purchase = Purchase(folding: facts, key: item.key, foldSettings: foldSettings) else { return [] }
        let customer =
            customer ?? Customer(originalAppUserID: item.owner, appUserIDs: [item.owner], firstSeen: item.updated)
        let converted = Set(purchase.trialConversions.map(\.paid))
        return purchase.periods.map { period in
            TransactionRow(
                purchase: purchase, period: period, customer: customer, owner: item.owner, updated: item.updated,
                isTrialConversion: converted.contains(period.id), terms: terms)
        }
    }
}

enum FeedSnapshot {
    static let isolation = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
}
