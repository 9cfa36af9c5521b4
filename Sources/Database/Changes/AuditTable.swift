import Postgres

/// What operators did, and what was refused to them. `ChangeTable` notes what became of changes.
package enum AuditTable {
    private static let insert = """
        INSERT INTO entitled.audit (at_ms, actor, credential, address, user_agent, kind, target, reason, outcome, message)
        VALUES ((extract(epoch FROM \(ServerTime.instant)) * 1000)::int8, $1, $2, $3, $4, $5, $6, $7, $9, $8)
        """

    /// What is noted although it changes nothing.
    package enum Look: String, Sendable, CaseIterable {
        /// Rows of a list as a file.
        case export
        /// The same of one customer, who is the target.
        case customerExport = "customer_export"
    }

    private static let longestMessage = 1000

    /// Notes that rows left as a file.
    ///
    /// - Parameters:
    ///   - target: the list, or the customer.
    ///   - message: how many rows, and the filters.
    package static func exported(
        _ look: Look, _ target: String, message: String, by origin: ChangeOrigin, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            insert,
            [
                .text(origin.user), .text(origin.credential.text), .text(origin.address), .text(origin.userAgent),
                .text(look.rawValue), .text(target), .text(nil),
                .text(String(message.unicodeScalars.prefix(longestMessage))),
                .text(ChangeEnding.Outcome.done.rawValue),
            ])
    }

    /// Notes a change that did not become one.
    ///
    /// - Parameters:
    ///   - reason: as the operator gave it; nil: none was read.
    ///   - message: why it was refused, as a sentence.
    package static func refused(
        _ kind: ChangeKind, _ target: String, reason: String?, by origin: ChangeOrigin, message: String,
        on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            insert,
            [
                .text(origin.user), .text(origin.credential.text), .text(origin.address), .text(origin.userAgent),
                .text(kind.rawValue), .text(target), .text(reason), .text(message),
                .text(ChangeEnding.Outcome.refused.rawValue),
            ])
    }

    /// An entry, with instants in ms since 1970.
    package struct Entry: Sendable {
        package let id: Int64
        package let at: Int64
        package let actor: String
        package let credential: String?
        package let address: String?
        package let userAgent: String?
        package let kind: String
        package let target: String
        package let reason: String?
        package let outcome: String
        /// Why it was refused, or failed, or what was exported; nil: it was done.
        package let message: String?
        /// The number of the change; nil: it was refused before it became one.
        package let job: Int64?

        init(_ row: PostgresRow) throws {
            id = try row.int("id")
            at = try row.int("at_ms")
            actor = try row.text("actor")
            credential = try row.optionalText("credential")
            address = try row.optionalText("address")
            userAgent = try row.optionalText("user_agent")
            kind = try row.text("kind")
            target = try row.text("target")
            reason = try row.optionalText("reason")
            outcome = try row.text("outcome")
            message = try row.optionalText("message")
            job = try row.optionalInt("job")
        }
    }

    /// Which entries are asked for.
    package struct Filter: Sendable {
        /// Nil: of every operator.
        package var actor: String?
        package var kind: String?
        /// Nil: about anything.
        package var target: String?
        /// ms since 1970; nil: from the first on.
        package var notBefore: Int64?
        /// Whether entries about customers tell neither who it is nor, by the filter of targets, that there is one.
        package var hidesCustomers = false

        package init(actor: String? = nil, kind: String? = nil, target: String? = nil) {
            (self.actor, self.kind, self.target) = (actor, kind, target)
        }
    }

    private static let select = """
        SELECT id, at_ms, actor, credential, address, user_agent, kind,
            CASE WHEN kind = ANY($9::text[]) THEN '' ELSE target END AS target,
            CASE WHEN kind <> ALL($9::text[]) THEN reason END AS reason, outcome,
            CASE WHEN kind <> ALL($9::text[]) THEN message END AS message, job
        FROM entitled.audit
        WHERE ($1::text IS NULL OR actor = $1) AND ($2::text IS NULL OR kind = $2)
            AND ($3::text IS NULL OR target = $3 AND kind <> ALL($9::text[]))
            AND ($4::int8 IS NULL OR at_ms >= $4) AND ($5::int8 IS NULL OR at_ms < $5) AND id < $6
            AND ($8::int8 IS NULL OR at_ms >= $8) AND id >= $10
        ORDER BY id DESC LIMIT $7
        """

    private static let lookedAt = "SELECT at_ms FROM entitled.audit WHERE id >= $1 ORDER BY id LIMIT 1"

    /// Entries that one page looks at, where no index has what is asked for.
    private static let longestLook: Int64 = 200_000

    /// A page, the newest first.
    package static func list(
        _ filter: Filter, _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<Entry> {
        var least: Int64 = 0
        // An index has targets.
        if filter.target == nil {
            let last = try connection.query("SELECT max(id) AS id FROM entitled.audit").one().optionalInt("id") ?? 0
            least = max(0, min(last, max(0, range.after?.order ?? .max)) - longestLook)
        }
        let found = try connection.query(
            select,
            [
                .text(filter.actor), .text(filter.kind), .text(filter.target), .int8(range.since), .int8(range.until),
                .int8(range.after?.order ?? .max), .int8(Int64(range.limit + 1)), .int8(filter.notBefore),
                .texts(filter.hidesCustomers ? ChangeKind.namesOfPersons : []), .int8(least),
            ]
        ).map(Entry.init)
        let stop =
            try least == 0
            ? nil
            : connection.query(lookedAt, [.int8(least)]).first.map { row in
                (instant: try row.int("at_ms"), cursor: ListCursor(order: least, lane: 0))
            }
        return ListPage(found, limit: range.limit, stop: stop) { ListCursor(order: $0.id, lane: 0) }
    }
}
