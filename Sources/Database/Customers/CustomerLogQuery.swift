import Base
import Postgres
import Subscriptions

/// Reads what the log says of customers, as far as it concerns Apple accounts.
struct CustomerLogQuery {
    /// What was found for many accounts.
    private(set) var entries: [CustomerLog.Entry] = []
    private(set) var joins: AccountJoins.Joins = [:]

    private static let select = """
        WITH named AS (
            SELECT * FROM entitled.action WHERE app_user_id = ANY($1::text[])
            UNION SELECT * FROM entitled.action WHERE other = ANY($1::text[])
        )
        SELECT n.seq, n.kind, n.at_ms, n.app_user_id, n.other, n.detail, (
                SELECT max(d.seq) FROM entitled.action d
                WHERE d.other = n.other AND d.kind = 'delete' AND d.at_ms = n.at_ms AND n.kind = 'delete'
            ) AS deletion
        FROM named n
        WHERE n.kind IN ('alias', 'identify', 'merge', 'delete', 'restore_behavior', 'transfer') ORDER BY n.seq
        """

    /// Everything that names these ids, and the ids that it joins them to, and so on.
    init(about ids: Set<String>, on connection: PostgresConnection) throws {
        var known = ids
        var fresh = ids
        var seen: Set<Int64> = []
        while !fresh.isEmpty {
            var more: Set<String> = []
            for row in try connection.query(CustomerLogQuery.select, [.texts(fresh.sorted())]) {
                guard let entry = try CustomerLogQuery.entry(row), seen.insert(try row.int("seq")).inserted else {
                    continue
                }
                entries.append(entry)
                more.formUnion(entry.deed.ids)
            }
            for (account, found) in try AccountJoins.naming(fresh, on: connection) {
                joins[account, default: []].formUnion(found)
                more.formUnion(found.flatMap { [$0.one, $0.other] })
            }
            fresh = more.subtracting(known)
            known.formUnion(fresh)
        }
    }

    private static func entry(_ row: PostgresRow) throws -> CustomerLog.Entry? {
        let (kind, one, other) = (try row.text("kind"), try row.text("app_user_id"), try row.optionalText("other"))
        // An entry that cannot be read must not become another deed: a purchase could go to another customer.
        let detail = try row.optionalText("detail").map { try JSON(parsing: Array($0.utf8)) }
        let deed: CustomerLog.Deed
        switch (kind, other) {
        case ("alias", let other?), ("identify", let other?), ("merge", let other?): deed = .join(one, other)
        case ("transfer", let other?):
            // Of single purchases it is among their facts.
            guard detail?["all"] == .bool(true) else { return nil }
            deed = .transfer(from: one, to: other)
        case ("delete", _): deed = .delete(one)
        case ("restore_behavior", _):
            deed = .behavior(
                one, detail?["restore_behavior"]?.stringValue.flatMap(RestoreBehavior.init(rawValue:)))
        default: return nil
        }
        return CustomerLog.Entry(
            at: try row.int("at_ms"), number: try row.optionalInt("deletion") ?? row.int("seq"), deed: deed)
    }

    /// Says what an account joins.
    ///
    /// - Returns: whether that is another than before.
    mutating func set(_ new: Set<AccountOwners.Join>, of account: AccountKey) -> Bool {
        guard joins[account] ?? [] != new else { return false }
        joins[account] = new.isEmpty ? nil : new
        return true
    }

    /// What concerns one account, by the ids that it names: exactly what a query about these ids alone would have found, so
    /// that accounts are judged alike alone and together. Spellings of one UUID are different ids to that query.
    func log(about ids: Set<String>, of account: AccountKey) -> CustomerLog {
        let others = joins.filter { $0.key != account }.flatMap { account, joins in
            // In no order of their own: they are of one instant only by chance.
            joins.map { CustomerLog.Entry(at: $0.at, number: 0, deed: .join($0.one, $0.other)) }
        }
        let all = entries + others
        guard !all.isEmpty else { return CustomerLog() }
        var known = ids
        var found: Set<Int> = []
        var grows = true
        while grows {
            grows = false
            for (place, entry) in all.enumerated() where !found.contains(place) {
                let named = entry.deed.ids
                guard named.contains(where: known.contains) else { continue }
                found.insert(place)
                known.formUnion(named)
                grows = true
            }
        }
        return CustomerLog(found.sorted().map { all[$0] })
    }
}

extension CustomerLog.Deed {
    /// The ids that it names.
    fileprivate var ids: [String] {
        switch self {
        case .join(let one, let other): [one, other]
        case .delete(let id): [id]
        case .behavior(let id, _): [id]
        case .transfer(let from, let to): [from, to]
        }
    }
}

extension PurchaseClaims {
    /// The ids that it names.
    var ids: Set<String> {
        Set(tokens.map(\.appUserID) + posts.map(\.appUserID) + assignments.map(\.owner))
    }
}
