import Base
import Postgres
import Subscriptions

/// What is known of the purchases of a lane, one after the other, in little memory.
///
/// One scan of the primary key, a page at a time: the transaction that reads it should see one moment.
package struct FactStream {
    private let lane: Lane
    private let app: String?
    private let environment: StoreEnvironment
    private let pageSize: Int
    private var cursor = Cursor()
    private var open: FactAccumulator?
    private var isRead = false

    /// - Parameters:
    ///   - app: nil: all that the App Store knows.
    ///   - pageSize: facts that are read at once.
    package init(lane: Lane, app: String?, environment: StoreEnvironment, pageSize: Int = 2000) {
        self.lane = lane
        self.app = app
        self.environment = environment
        self.pageSize = pageSize
    }

    /// The key of the fact that was read last.
    private struct Cursor {
        var originalTransactionID = ""
        var app = ""
        var environment: Int16 = -1
        var digest = [UInt8](repeating: 0, count: 16)
    }

    /// Apps whose names begin with "$" are none. Transactions, renewal infos and notifications only: owners are
    /// not needed here.
    private static let select = """
        SELECT original_transaction_id, app, digest, kind, signed_ms, payload, array_to_string(signed_again, ' ') AS again
        FROM entitled.fact
        WHERE lane = $1 AND (original_transaction_id, app, environment, digest) > ($2, $3, $4, $5)
            AND environment = $6 AND ($7::text IS NULL OR app = $7) AND NOT starts_with(app, '$') AND kind IN (1, 2, 3)
        ORDER BY original_transaction_id, app, environment, digest LIMIT $8
        """

    /// Some more purchases with all their facts; nil: there are no more.
    package mutating func next(
        on connection: PostgresConnection
    ) throws -> [(key: PurchaseKey, facts: PurchaseFacts)]? {
        guard !isRead else { return nil }
        let rows = try connection.query(
            FactStream.select,
            [
                .int2(lane.number), .text(cursor.originalTransactionID), .text(cursor.app), .int2(cursor.environment),
                .uuid(cursor.digest), .int2(environment.code), .text(app), .int8(Int64(pageSize)),
            ])
        var done: [FactAccumulator] = []
        for row in rows {
            cursor = Cursor(
                originalTransactionID: try row.text("original_transaction_id"), app: try row.text("app"),
                environment: environment.code,
                digest: try row.uuid("digest"))
            let key = PurchaseKey(
                app: cursor.app, environment: environment, originalTransactionID: cursor.originalTransactionID)
            if let open, open.key != key {
                done.append(open)
                self.open = nil
            }
            if open == nil { open = FactAccumulator(key: key) }
            try open?.add(row)
        }
        if rows.count < pageSize {
            isRead = true
            if let open { done.append(open) }
            open = nil
        }
        return try done.map { ($0.key, try $0.all()) }
    }
}

/// The facts of a purchase while they are read.
private struct FactAccumulator {
    let key: PurchaseKey
    private var facts = PurchaseFacts()
    private var notifications: [(signed: Int64, payload: [UInt8])] = []

    init(key: PurchaseKey) {
        self.key = key
    }

    mutating func add(_ row: PostgresRow) throws {
        guard let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int("kind"))) else { return }
        let (signed, payload) = (try row.int("signed_ms"), try row.bytes("payload"))
        let again = try FactRow.dates(row.optionalText("again"))
        guard kind != .notification else {
            notifications.append((signed, payload))
            return
        }
        try FactRow.stored(kind, signed, payload, again).insert(into: &facts)
    }

    /// Notifications are many, and tell more than renewal infos only where a charge failed: of grace without an end.
    func all() throws -> PurchaseFacts {
        guard facts.renewals.contains(where: { $0.isInBillingRetryPeriod == true || $0.expirationIntent == 2 }) else {
            return facts
        }
        var all = facts
        for (signed, payload) in notifications {
            try FactRow.stored(.notification, signed, payload).insert(into: &all)
        }
        return all
    }
}

extension FactRow {
    fileprivate static func stored(
        _ kind: Kind, _ signed: Int64, _ payload: [UInt8], _ again: [Int64] = []
    ) throws -> FactRow {
        FactRow(
            kind: kind, signedDate: signed, header: nil, signature: nil, payload: try FactCodec.restore(payload),
            again: again)
    }
}
