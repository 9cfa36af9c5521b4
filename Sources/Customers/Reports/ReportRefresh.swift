import Base
import Database
import Postgres
import Subscriptions

/// Brings the tables of reports up to date, some purchases at a time.
package struct ReportRefresh: Sendable {
    private let terms: ReportTerms
    private let pageSize: Int

    /// - Parameter pageSize: purchases that are read at once.
    package init(_ terms: ReportTerms, pageSize: Int = 100) {
        self.terms = terms
        self.pageSize = pageSize
    }

    /// Where a refresh is.
    package struct Cursor: Sendable, Equatable {
        package fileprivate(set) var lane = 0
        fileprivate var last: PurchaseKey?
        /// How often a purchase of the page changed while it was read.
        fileprivate var overtaken = 0
        /// Purchases of the lane whose rows could not be made: they are not tried again when a page is.
        fileprivate var broken: Set<PurchaseKey> = []
        /// Purchases whose rows are not up to date after this refresh: how many so far.
        package fileprivate(set) var failed = 0
        /// When it began, in ms by the server's clock.
        package let started: Int64

        package init(started: Int64) {
            self.started = started
        }

        package var isAtEnd: Bool { lane >= Lane.count }
        /// Whether the next page is one that was read before: it is worth a pause.
        package var isRepeating: Bool { overtaken > 0 }
    }

    /// A purchase whose rows could not be made: they stay as they were, and the next refresh tries again.
    package struct Failure: Sendable {
        package let key: PurchaseKey
        package let error: any Error
    }

    /// A purchase changed each time between the reading of its facts and the writing of its rows.
    package struct Overtaken: Error, CustomStringConvertible {
        package var description: String { "the purchase changed whenever its rows were computed" }
    }

    package static let patience = 10

    /// One page; at the end of the last lane it is noted how far the tables are, and how many purchases they lack.
    ///
    /// - Returns: purchases that were passed over, each once in a refresh.
    /// - Throws: what says nothing about a purchase, such as a lost connection or a missing privilege; the same page is next.
    package func step(_ cursor: inout Cursor, on connection: PostgresConnection) throws -> [Failure] {
        guard !cursor.isAtEnd else { return [] }
        let lane = Lane(number: Int16(clamping: cursor.lane))
        let due = try ReportTable.due(
            in: lane, after: cursor.last, stamp: terms.stamp, atMost: pageSize, on: connection)
        let tried = due.filter { !cursor.broken.contains($0.key) }
        var (done, failures) = try write(tried, now: cursor.started, on: connection)
        done.formUnion(cursor.broken)
        done.formUnion(failures.map(\.key))
        // One that changed meanwhile may lack what is older than the refresh, so the page is read again from there.
        if let left = due.firstIndex(where: { !done.contains($0.key) }) {
            if cursor.overtaken < ReportRefresh.patience {
                cursor.overtaken += 1
                if left > 0 { cursor.last = due[left - 1].key }
                cursor.broken.formUnion(failures.map(\.key))
                cursor.failed += failures.count
                return failures
            }
            failures += due.filter { !done.contains($0.key) }.map { Failure(key: $0.key, error: Overtaken()) }
        }
        cursor.failed += failures.count
        cursor.overtaken = 0
        cursor.broken = []
        cursor.last = due.last?.key
        guard due.count < pageSize else { return failures }
        try ReportTable.deleteGone(in: lane, on: connection)
        cursor.lane += 1
        cursor.last = nil
        if cursor.isAtEnd {
            try ReportTable.finish(
                started: cursor.started, failed: cursor.failed, stamp: terms.stamp, on: connection)
        }
        return failures
    }

    /// Writes the rows of purchases; where that fails for some, of each by itself.
    private func write(
        _ due: [ReportTable.Due], now: Int64, on connection: PostgresConnection
    ) throws -> (done: Set<PurchaseKey>, failures: [Failure]) {
        var (done, failures): (Set<PurchaseKey>, [Failure]) = ([], [])
        for part in try FactBatches.split(due.map(\.key), on: connection) {
            let part = Array(due[part])
            do {
                done.formUnion(try writeTogether(part, now: now, on: connection))
            } catch  where ReportRefresh.isOfPurchase(error) {
                for one in part {
                    do {
                        done.formUnion(try writeTogether([one], now: now, on: connection))
                    } catch  where ReportRefresh.isOfPurchase(error) {
                        failures.append(Failure(key: one.key, error: error))
                    }
                }
            }
        }
        return (done, failures)
    }

    private static func isOfPurchase(_ error: any Error) -> Bool { (error as? PostgresError)?.isOfData ?? true }

    /// Facts are read after the state of the record: if they say more than it, its rows are not written.
    ///
    /// - Returns: the purchases whose rows were written.
    private func writeTogether(
        _ due: [ReportTable.Due], now: Int64, on connection: PostgresConnection
    ) throws -> Set<PurchaseKey> {
        let facts = try FactTable.load(due.map(\.key), on: connection)
        let contents = zip(due, facts).map { due, facts in
            let purchase = Purchase(folding: facts, key: due.key, foldSettings: terms.foldSettings)
            return ReportTable.Content(
                due: due, transactions: purchase.map { terms.transactions(of: $0) } ?? [],
                entitlements: purchase.map { terms.entitlements(of: $0, at: now) } ?? [],
                history: purchase.flatMap { ReportHistory(of: $0, facts, foldSettings: terms.foldSettings)?.bytes }
                    ?? [])
        }
        return try ReportTable.write(contents, stamp: terms.stamp, on: connection)
    }
}

extension ReportTerms {
    /// A row for each transaction.
    func transactions(of purchase: Purchase) -> [ReportTransaction] {
        let converted = Set(purchase.trialConversions.map(\.paid))
        return purchase.periods.map { period in
            let transaction = period.transaction
            let money = TransactionMoney(period, in: purchase.key.app, rates: rates, seller: seller)
            let grace = period.id == purchase.latest.id ? purchase.graceUntil : nil
            return ReportTransaction(
                id: period.id, productID: period.productID,
                productType: transaction.grant == nil ? transaction.kind : nil, periodType: period.type,
                purchased: transaction.purchaseDate, expires: transaction.expiresDate,
                accessEnds: period.accessUntil.map { max($0, grace ?? $0) },
                refundedAt: period.revocation.flatMap { $0.kind == .refund ? $0.date : nil },
                renewalNumber: period.number, offerType: transaction.offerType, offerID: transaction.offerIdentifier,
                country: transaction.storefront.flatMap(CountryCodes.alpha2), currency: money.currency,
                price: money.gross, refunded: money.refunded, commission: money.commission, tax: money.tax,
                dollars: money.grossDollars, netDollars: money.netDollars,
                isTrialConversion: converted.contains(period.id), isFamilyShare: transaction.isFamilyShare,
                isUpgraded: period.supersededAt != nil || transaction.isUpgraded)
        }
    }

    /// What the purchase gives at this instant, in ms.
    func entitlements(of purchase: Purchase, at now: Int64) -> [ReportEntitlement] {
        PurchaseSnapshot(purchase).holdings.filter { $0.isActive(at: now) }.flatMap { holding in
            let names = holding.grantedEntitlement.map { [$0] } ?? catalogue.entitlements(of: holding.productID)
            return names.map { name in
                ReportEntitlement(
                    entitlement: name, productID: holding.productID, purchased: holding.purchaseDate,
                    expires: holding.expires, graceEnds: holding.grace)
            }
        }
    }
}
