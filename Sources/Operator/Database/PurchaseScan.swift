import Base
import Database
import Postgres
import Subscriptions

/// Looks through all purchases in the order of their keys: no index orders them by what operators ask for.
///
/// What was asked for may be rare, so a page ends with its budget as well as with its limit, and the next goes on there.
enum PurchaseScan {
    struct Filter: Sendable {
        var app: String?
        var environment: StoreEnvironment?
        var product: String?
        /// Whether all ids of the owner have to be anonymous.
        var isUnclaimed: Bool
        /// When access ends, in ms since 1970: from the first on and before the second.
        var endsAfter: Int64?
        var endsBefore: Int64?
        /// When the latest period was refunded or revoked: the same. Both nil: also those that never were.
        var refundedSince: Int64?
        var refundedUntil: Int64?
        /// What the columns of a record tell of it; the rest has to be folded.
        var status: PurchaseStatus?

        init(
            app: String? = nil, environment: StoreEnvironment? = nil, product: String? = nil, isUnclaimed: Bool = false,
            endsAfter: Int64? = nil, endsBefore: Int64? = nil, refundedSince: Int64? = nil,
            refundedUntil: Int64? = nil, status: PurchaseStatus? = nil
        ) {
            (self.app, self.environment, self.product, self.isUnclaimed) = (app, environment, product, isUnclaimed)
            (self.endsAfter, self.endsBefore, self.status) = (endsAfter, endsBefore, status)
            (self.refundedSince, self.refundedUntil) = (refundedSince, refundedUntil)
        }
    }

    /// Rows of a part, and rows together at most.
    private static let partRows = 2_000
    private static let mostRows = 200_000

    /// With its OFFSET the look at an owner's other ids stays one for each purchase: all ids are never read into a hash table.
    private static let select = """
        SELECT /* cluster: owner, */ lane, app, environment, original_transaction_id,
            ($5::text IS NULL OR app = $5) AND ($6::int2 IS NULL OR environment = $6)
                AND ($7::text IS NULL OR product_id = $7)
                AND ($8::int8 IS NULL OR access_ends_ms >= $8) AND ($9::int8 IS NULL OR access_ends_ms < $9)
                AND ($15::int8 IS NULL OR coalesce(revoked_ms >= $15, false))
                AND ($16::int8 IS NULL OR coalesce(revoked_ms < $16, false))
                AND CASE $10::text
                    WHEN 'active' THEN coalesce(access_ends_ms > $11, true)
                    WHEN 'grace' THEN coalesce(grace_ends_ms > $11, false)
                    WHEN 'revoked' THEN revoked_ms IS NOT NULL
                    WHEN 'expired' THEN coalesce(access_ends_ms <= $11, false)
                    WHEN 'billing_retry' THEN coalesce(access_ends_ms <= $11, false)
                    ELSE true END
                AND (NOT $12 OR app <> $14 AND starts_with(owner, $13) /* cluster: for: */AND NOT EXISTS (
                    SELECT 1 FROM entitled.app_user_id own
                    JOIN entitled.app_user_id other ON other.original_app_user_id = own.original_app_user_id
                    WHERE own.id = p.owner AND NOT starts_with(other.id, $13) OFFSET 0)/* end */) AS fits
        FROM (
            SELECT * FROM entitled.purchase
            WHERE (lane, original_transaction_id) >= ($1::int2, $2::text)
            ORDER BY lane, original_transaction_id, app, environment OFFSET $3 LIMIT $4
        ) p ORDER BY lane, original_transaction_id, app, environment
        """

    /// A position between two keys. A cursor has room for the beginning of an id, so it counts those that begin the same. Ids are
    /// ASCII, Apple's as well as those of grants.
    private struct Place {
        var lane: Int16 = 0
        var beginning = ""
        var passed: Int64 = 0

        private static let length = 16

        init() {}

        init(_ cursor: ListCursor) {
            lane = max(0, cursor.lane)
            let bytes = cursor.id.prefix { $0 != 0 }
            // One that no page gave out starts where its readable part ends.
            beginning = String(validating: bytes, as: UTF8.self) ?? ""
            passed = min(max(0, cursor.order), Int64(PurchaseScan.mostRows))
        }

        var cursor: ListCursor { ListCursor(order: passed, lane: lane, id: Array(beginning.utf8)) }

        mutating func pass(lane: Int16, id: String) {
            var beginning = ""
            for scalar in id.unicodeScalars {
                guard beginning.utf8.count + String(scalar).utf8.count <= Place.length else { break }
                beginning.unicodeScalars.append(scalar)
            }
            let isSame = lane == self.lane && Array(beginning.utf8) == Array(self.beginning.utf8)
            passed = isSame ? passed + 1 : 1
            (self.lane, self.beginning) = (lane, beginning)
        }
    }

    /// The keys of those that fit.
    ///
    /// - Parameter now: ms since 1970, for what is active.
    static func list(
        _ filter: Filter, _ range: ListRange, now: Int64, on connection: PostgresConnection
    ) throws -> ListPage<PurchaseKey> {
        var place = range.after.map(Place.init) ?? Place()
        let deadline = range.budget.map { ContinuousClock.now + $0 }
        var found: [(key: PurchaseKey, place: Place)] = []
        var read = 0
        while found.count <= range.limit {
            let began = ContinuousClock.now
            let rows = try connection.query(select, parameters(filter, place, now))
            let claimed = try claimed(rows, filter, on: connection)
            for row in rows {
                let key = try PurchaseKey(row)
                place.pass(lane: Int16(clamping: try row.int("lane")), id: key.originalTransactionID)
                if try row.bool("fits"), try claimed.isEmpty || !claimed.contains(row.text("owner")) {
                    found.append((key, place))
                }
                if found.count > range.limit { break }
            }
            if rows.count < partRows { break }
            read += rows.count
            // The next part takes as long as this one.
            let end = ContinuousClock.now + (.now - began)
            if found.count <= range.limit, read >= mostRows || deadline.map({ end >= $0 }) ?? false {
                return page(found, range, stop: place)
            }
        }
        return page(found, range, stop: nil)
    }

    /// Owners of purchases that would fit on a cluster, where their other ids lie elsewhere.
    private static func claimed(
        _ rows: PostgresRows, _ filter: Filter, on connection: PostgresConnection
    ) throws -> Set<String> {
        guard connection.isCluster, filter.isUnclaimed else { return [] }
        let owners = try rows.filter { try $0.bool("fits") }.map { try $0.text("owner") }
        return try PurchaseQuery.claimed(among: Set(owners), on: connection)
    }

    private static func page(
        _ found: [(key: PurchaseKey, place: Place)], _ range: ListRange, stop: Place?
    ) -> ListPage<PurchaseKey> {
        ListPage(found, limit: range.limit, stop: stop.map { (0, $0.cursor) }) { $0.place.cursor }
            .map { $0.map(\.key) }
    }

    private static func parameters(_ filter: Filter, _ place: Place, _ now: Int64) -> [PostgresValue] {
        [
            .int2(place.lane), .text(place.beginning), .int8(place.passed), .int8(Int64(partRows)), .text(filter.app),
            .int2(filter.environment?.code), .text(filter.product), .int8(filter.endsAfter), .int8(filter.endsBefore),
            .text(filter.status?.rawValue), .int8(now), .bool(filter.isUnclaimed), .text(Owner.anonymousPrefix),
            .text(Grant.app), .int8(filter.refundedSince), .int8(filter.refundedUntil),
        ]
    }
}
