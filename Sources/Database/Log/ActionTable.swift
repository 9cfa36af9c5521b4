import Base
import Postgres
import Subscriptions

/// Unsigned actions about customers: with the facts, all that records follow from.
package enum ActionTable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Two ids name one customer, as an operator or a backend said.
        case alias
        /// The same: who was anonymous on a device logged in there.
        case identify
        /// The same, found by a worker: a purchase that had an anonymous owner was signed with an account token.
        case merge
        /// Purchases went to another customer: an operator said so.
        case transfer
        /// A purchase went to a customer who restored it: as it was written down before purchases had claims.
        case claim
        /// An app posted a purchase that had no record yet, or is another customer's.
        case post
        /// An operator brought in a customer with purchases, from another system's records.
        case `import`
        /// Purchases of an Apple account went to another customer, by what was signed, posted or restored.
        case move
        /// An upgrade kept the owners that it found.
        case keep
        /// What becomes of a customer's purchases when others restore them: the last word about any of the ids counts.
        case restoreBehavior = "restore_behavior"
        /// An id names no customer any more.
        case delete
        /// A customer got an entitlement from the seller.
        case grant
        /// The grants of an entitlement were taken back.
        case revoke
    }

    /// Who did it, and why.
    package struct Origin: Sendable, Equatable {
        package let actor: String
        package let reason: String?

        package init(actor: String, reason: String? = nil) {
            self.actor = actor
            self.reason = reason
        }

        /// A worker that applies what Apple signed.
        package static let worker = Origin(actor: "worker")
    }

    /// An action on its way into the log.
    package struct New: Sendable {
        package let kind: Kind
        /// The app user id that it is done to.
        package let appUserID: String
        /// The other one, where there are two.
        package let other: String?
        /// JSON: what else belongs to it.
        package let detail: JSON?

        package init(_ kind: Kind, _ appUserID: String, other: String? = nil, detail: JSON? = nil) {
            self.kind = kind
            self.appUserID = appUserID
            self.other = other
            self.detail = detail
        }

        /// Member of `detail`: under which id the two are one customer.
        package static let originalID = "original_app_user_id"

        /// That two ids are one customer, who is known by this original id.
        package static func joining(_ kind: Kind, _ id: String, _ other: String, under original: String) -> New {
            New(kind, id, other: other, detail: .object([originalID: .string(original)]))
        }
    }

    /// An action of the log.
    package struct Entry: Sendable {
        package let number: Int64
        package let kind: Kind?
        /// As it is written, also if this version does not know the kind.
        package let kindName: String
        /// ms since 1970.
        package let at: Int64
        package let origin: Origin
        package let appUserID: String
        package let other: String?
        package let detail: JSON?

        /// What it was, by whom and why, in words.
        package var sentence: String {
            let (one, two) = (appUserID, other ?? "somebody")
            let deed =
                switch kind {
                case .alias: "\(one) and \(two) were made one customer"
                case .identify: "\(one) logged in as \(two)"
                case .merge: "\(one) and \(two) turned out to be one customer"
                case .transfer: "purchases were moved from \(one) to \(two)"
                case .claim: "purchases of \(one) were restored by \(two)"
                case .move: "purchases of \(one) went to \(two), who has the Apple account"
                case .keep: "the upgrade kept the owners that it found"
                case .post: "a purchase of \(one) was posted"
                case .import: "purchases of \(one) were imported"
                case .restoreBehavior:
                    "restore_behavior of \(one) was set to \(detail?["restore_behavior"]?.stringValue ?? "the default")"
                case .delete: "\(one) was deleted"
                case .grant: "\(entitlement) was granted to \(one)\(term)"
                case .revoke: "what was granted of \(entitlement) was taken back from \(one)"
                case nil: "\(kindName) of \(one)"
                }
            return "\(deed), by \(origin.actor)\(origin.reason.map { ": \($0)" } ?? "")"
        }

        private var entitlement: String { detail?["entitlement"]?.stringValue ?? "something" }

        private var term: String {
            guard let end = detail?["expires_at"]?.stringValue else { return " forever" }
            return " until \(end)"
        }

        /// For each app and environment whose consumers were told that purchases moved, the first of these.
        package var transfers: [PurchaseKey] {
            guard kind == .transfer || kind == .claim || kind == .move else { return [] }
            var places: Set<[String]> = []
            return moved.filter { places.insert([$0.app, $0.environment.rawValue]).inserted }
        }

        /// The purchases that it moved.
        package var moved: [PurchaseKey] {
            (detail?["purchases"]?.arrayValue ?? []).compactMap { item in
                guard let app = item["app"]?.stringValue, let id = item["original_transaction_id"]?.stringValue,
                    let environment = item["environment"]?.stringValue.flatMap(StoreEnvironment.init)
                else { return nil }
                return PurchaseKey(app: app, environment: environment, originalTransactionID: id)
            }
        }

        /// What consumers were told of it, without names.
        package func event(about key: PurchaseKey) -> TransferEvent {
            TransferEvent(
                app: key.app, environment: key.environment, from: [], to: [], action: number, at: at)
        }
    }

    private static let insert = """
        INSERT INTO entitled.action (kind, at_ms, actor, reason, app_user_id, other, detail)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING seq
        """

    /// Writes it down; its number in the log. The customers that it concerns are locked.
    ///
    /// - Parameter now: ms since 1970.
    @discardableResult
    package static func add(
        _ action: New, by origin: Origin, now: Int64, on connection: PostgresConnection
    ) throws -> Int64 {
        let rows = try connection.query(insert, values(action, origin, now))
        guard let row = rows.first else { throw PostgresError(.decoding, "an action has no number") }
        return try row.int("seq")
    }

    private static let insertNumbered = """
        INSERT INTO entitled.action (seq, kind, at_ms, actor, reason, app_user_id, other, detail)
        VALUES ($8, $1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING seq
        """

    /// Writes an action down that the database lost, under the number that it had, unless another has it now.
    package static func restore(
        _ action: New, number: Int64, by origin: Origin, now: Int64, on connection: PostgresConnection
    ) throws -> Int64 {
        let rows = try connection.query(insertNumbered, values(action, origin, now) + [.int8(number)])
        return try rows.first?.int("seq") ?? add(action, by: origin, now: now, on: connection)
    }

    private static func values(_ action: New, _ origin: Origin, _ now: Int64) -> [PostgresValue] {
        [
            .text(action.kind.rawValue), .int8(now), .text(origin.actor), .text(origin.reason), .text(action.appUserID),
            .text(action.other), .text(action.detail.map { String(decoding: $0.bytes, as: UTF8.self) }),
        ]
    }

    private static let next = """
        WITH named AS (
            SELECT unnest($1::text[]) AS id
            UNION SELECT id FROM entitled.app_user_id WHERE original_app_user_id = ANY($2::text[])
        )
        SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000)::int8, max(latest.at_ms) + 1)
        FROM named LEFT JOIN LATERAL (
            (SELECT at_ms FROM entitled.action WHERE app_user_id = named.id ORDER BY seq DESC LIMIT 1)
            UNION ALL (SELECT at_ms FROM entitled.action WHERE other = named.id ORDER BY seq DESC LIMIT 1)
        ) AS latest ON true
        """

    /// The time of the next action about these ids and customers, who are locked, in ms since 1970: the server's, but later than
    /// that of the newest action about them, where both are done in one millisecond or the server's clock went back since.
    package static func nextTime(
        about ids: [String], of roots: Set<String>, on connection: PostgresConnection
    ) throws -> Int64 {
        try connection.query(next, [.texts(ids), .texts(roots.sorted())]).one().int("greatest")
    }

    private static let select = """
        SELECT seq, kind, at_ms, actor, reason, app_user_id, other, detail FROM (
            SELECT * FROM entitled.action WHERE app_user_id = ANY($1::text[])
            UNION SELECT * FROM entitled.action WHERE other = ANY($1::text[])
        ) AS found ORDER BY seq DESC LIMIT $2
        """

    /// Everything that names one of these ids, the oldest first.
    ///
    /// - Parameter limit: the newest of them; nil: all.
    package static func entries(
        naming ids: [String], atMost limit: Int? = nil, on connection: PostgresConnection
    ) throws -> [Entry] {
        try connection.query(select, [.texts(ids), .int8(limit.map { Int64($0) })]).map(entry).reversed()
    }

    private static let selectImport = """
        SELECT detail FROM entitled.action WHERE seq = $1 AND kind = 'import'
        """

    /// How an action of this number gave purchases to a customer, if it is an import.
    package enum ImportGrounds: Sendable {
        /// A row named the purchase.
        case named
        /// The purchase is of the same Apple account as one that a row named, and no other act names its owner.
        case implied
    }

    /// Member of `detail`: whether the purchases are of the Apple account alone.
    package static let implied = "implied"

    /// Nil where it is no import.
    package static func importGrounds(
        of number: Int64, on connection: PostgresConnection
    ) throws -> ImportGrounds? {
        try connection.query(selectImport, [.int8(number)]).first.map { row in
            let detail = try row.optionalText("detail").map { try JSON(parsing: Array($0.utf8)) }
            return detail?[implied] == .bool(true) ? .implied : .named
        }
    }

    private static let selectAfter = """
        SELECT seq, kind, at_ms, actor, reason, app_user_id, other, detail FROM entitled.action
        WHERE seq > $1 ORDER BY seq LIMIT $2
        """

    /// The next ones of the whole log, the oldest first.
    package static func entries(
        after number: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [Entry] {
        try connection.query(selectAfter, [.int8(number), .int8(Int64(limit))]).map(entry)
    }

    /// Rows of the log that one page looks at, where no index has what is asked for.
    private static let longestLook: Int64 = 200_000

    private static let pageColumns = "seq, kind, at_ms, actor, reason, app_user_id, other, detail"
    private static let pageConditions = """
        ($3::text IS NULL OR actor = $3) AND ($4::text IS NULL OR kind = $4) AND at_ms >= $5 AND at_ms < $6
        """
    private static let selectPage = """
        SELECT \(pageColumns) FROM entitled.action WHERE seq < $1 AND seq >= $7 AND \(pageConditions)
        ORDER BY seq DESC LIMIT $2
        """
    private static let selectPageNaming = """
        SELECT \(pageColumns) FROM (
            SELECT * FROM entitled.action WHERE app_user_id = ANY($7::text[])
            UNION SELECT * FROM entitled.action WHERE other = ANY($7::text[])
        ) AS found WHERE seq < $1 AND \(pageConditions) ORDER BY seq DESC LIMIT $2
        """

    /// A page of the log, the newest first.
    ///
    /// - Parameter ids: only what names one of these; nil: all.
    package static func list(
        actor: String?, kind: String?, naming ids: [String]?, _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<Entry> {
        let parameters: [PostgresValue] = [
            .int8(range.after?.order ?? .max), .int8(Int64(range.limit + 1)), .text(actor), .text(kind),
            .int8(range.since ?? .min), .int8(range.until ?? .max),
        ]
        if let ids {
            let found = try connection.query(selectPageNaming, parameters + [.texts(ids)]).map(entry)
            return page(found, range)
        }
        let first = try connection.query("SELECT max(seq) AS seq FROM entitled.action").one().optionalInt("seq") ?? 0
        let least = max(0, min(first, max(0, range.after?.order ?? .max)) - longestLook)
        let found = try connection.query(selectPage, parameters + [.int8(least)]).map(entry)
        let last = "SELECT at_ms FROM entitled.action WHERE seq >= $1 ORDER BY seq LIMIT 1"
        guard least > 0, let row = try connection.query(last, [.int8(least)]).first else { return page(found, range) }
        return page(found, range, stop: (try row.int("at_ms"), ListCursor(order: least, lane: 0)))
    }

    private static func page(
        _ found: [Entry], _ range: ListRange, stop: (instant: Int64, cursor: ListCursor)? = nil
    ) -> ListPage<Entry> {
        ListPage(found, limit: range.limit, stop: stop) { ListCursor(order: $0.number, lane: 0) }
    }

    private static let selectJoins = """
        WITH named AS (
            SELECT seq, kind, app_user_id, other, detail FROM entitled.action WHERE app_user_id = ANY($1::text[])
            UNION SELECT seq, kind, app_user_id, other, detail FROM entitled.action WHERE other = ANY($1::text[])
        )
        (SELECT n.app_user_id, n.other, n.detail::json ->> 'original_app_user_id' AS original FROM named n
        WHERE n.kind IN ('alias', 'identify', 'merge') AND n.other IS NOT NULL
            AND NOT EXISTS (
                SELECT 1 FROM entitled.action d WHERE d.app_user_id IN (n.app_user_id, n.other) AND d.kind = 'delete'
                    AND d.seq > n.seq
            )
        ORDER BY n.seq)
        UNION ALL
        SELECT bought.one, bought.other, NULL FROM (
            SELECT one, other FROM entitled.account_join WHERE one = ANY($1::text[])
            UNION SELECT one, other FROM entitled.account_join WHERE other = ANY($1::text[])
        ) bought
        """

    /// Two ids that an action or the purchases of an account joined, and the original id of the customer who then had both, if the
    /// log says so.
    package typealias Join = (one: String, other: String, original: String?)

    /// With one of these ids in each, the oldest first; not what was deleted since.
    package static func joins(of ids: [String], on connection: PostgresConnection) throws -> [Join] {
        guard !ids.isEmpty else { return [] }
        return try connection.query(selectJoins, [.texts(ids)]).map { row in
            (try row.text("app_user_id"), try row.text("other"), try row.optionalText("original"))
        }
    }

    private static let selectKeeping = """
        SELECT seq, at_ms FROM entitled.action WHERE kind = 'keep' ORDER BY seq LIMIT 1
        """

    /// The act by which an upgrade kept the owners that it found, and when it did, in ms; nil: there was none.
    static func keeping(on connection: PostgresConnection) throws -> (number: Int64, at: Int64)? {
        try connection.query(selectKeeping).first.map { (try $0.int("seq"), try $0.int("at_ms")) }
    }

    private static let selectWords = """
        SELECT a.app_user_id, a.detail::json ->> 'restore_behavior' AS behavior FROM entitled.action a
        WHERE a.app_user_id = ANY($1::text[]) AND a.kind = 'restore_behavior' AND NOT EXISTS (
            SELECT 1 FROM entitled.action d WHERE d.app_user_id = a.app_user_id AND d.kind = 'delete' AND d.seq > a.seq
        )
        ORDER BY a.seq
        """

    /// What was said about the restore behaviour of one id; nil: that the configuration's counts again.
    package typealias RestoreWord = (appUserID: String, behavior: RestoreBehavior?)

    /// The oldest first; not what was said of a customer who was deleted since.
    package static func restoreWords(
        about ids: [String], on connection: PostgresConnection
    ) throws -> [RestoreWord] {
        guard !ids.isEmpty else { return [] }
        return try connection.query(selectWords, [.texts(ids)]).map { row in
            (try row.text("app_user_id"), try row.optionalText("behavior").flatMap(RestoreBehavior.init(rawValue:)))
        }
    }

    private static let selectDeletions = """
        SELECT app_user_id, max(seq) AS seq FROM entitled.action WHERE kind = 'delete' AND app_user_id = ANY($1::text[])
        GROUP BY 1
        """

    /// The number of the last deletion of each of these ids.
    package static func deletions(
        of ids: Set<String>, on connection: PostgresConnection
    ) throws -> [String: Int64] {
        guard !ids.isEmpty else { return [:] }
        var numbers: [String: Int64] = [:]
        for row in try connection.query(selectDeletions, [.texts(ids.sorted())]) {
            numbers[try row.text("app_user_id")] = try row.int("seq")
        }
        return numbers
    }

    private static func entry(_ row: PostgresRow) throws -> Entry {
        let kind = try row.text("kind")
        return Entry(
            number: try row.int("seq"), kind: Kind(rawValue: kind), kindName: kind, at: try row.int("at_ms"),
            origin: Origin(actor: try row.text("actor"), reason: try row.optionalText("reason")),
            appUserID: try row.text("app_user_id"),
            other: try row.optionalText("other"),
            detail: try row.optionalText("detail").flatMap { try? JSON(parsing: Array($0.utf8)) })
    }
}
