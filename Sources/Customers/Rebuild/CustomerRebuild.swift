import Base
import Database
import Postgres
import Subscriptions

/// Customers again from the log of actions: every id that it names is there, and ids are one customer exactly where an
/// action joined them.
struct CustomerRebuild {
    struct Page {
        /// Where the next page begins; nil: this was the last.
        var next: String?
        var customers = 0
        var differences: [Difference] = []
    }

    // MARK: - Ids that the log names

    /// - Parameter cursor: the number of the last action that was looked at.
    func checkLog(
        after cursor: Int64, atMost limit: Int, writes: Bool, on connection: PostgresConnection
    ) throws -> Page {
        let entries = try ActionTable.entries(after: cursor, atMost: limit, on: connection)
        let missing = try missing(
            of: entries.map { ($0.kind, [$0.appUserID, $0.other].compactMap { $0 }, $0.at, $0.number) }, on: connection)
        if writes { try CustomerTable.restore(missing, on: connection) }
        return Page(
            next: entries.last.map { String($0.number) },
            differences: missing.keys.sorted().map {
                Difference(subject: .customer($0), member: "app_user_id", found: nil, expected: .string($0))
            })
    }

    /// Ids that actions name, that no deletion followed, and that name no customer; with the time of the first action, in ms.
    ///
    /// - Parameter later: further deletions, by the id: their numbers.
    func missing(
        of actions: [(kind: ActionTable.Kind?, ids: [String], at: Int64, number: Int64)],
        _ later: [String: Int64] = [:], on connection: PostgresConnection
    ) throws -> [String: Int64] {
        var named: [String: (at: Int64, action: Int64)] = [:]
        for action in actions where action.kind != .delete && action.kind != .keep {
            for id in action.ids {
                named[id] = (min(named[id]?.at ?? .max, action.at), max(named[id]?.action ?? 0, action.number))
            }
        }
        let missing = Set(named.keys).subtracting(try CustomerTable.known(Set(named.keys), on: connection))
        let deleted = try ActionTable.deletions(of: missing, on: connection).merging(later, uniquingKeysWith: max)
        let wanted = missing.filter { id in (deleted[id] ?? 0) < (named[id]?.action ?? 0) }
        return Dictionary(uniqueKeysWithValues: wanted.map { ($0, named[$0]?.at ?? 0) })
    }

    // MARK: - Which ids are one customer

    private static let select = """
        SELECT root FROM (
            (SELECT original_app_user_id AS root FROM entitled.customer WHERE original_app_user_id > $1
            ORDER BY 1 LIMIT $2)
            UNION
            (SELECT DISTINCT original_app_user_id FROM entitled.app_user_id WHERE original_app_user_id > $1
            ORDER BY 1 LIMIT $2)
        ) AS found ORDER BY root LIMIT $2
        """

    /// - Parameter cursor: the original id of the last customer that was looked at.
    func check(
        after cursor: String, atMost limit: Int, writes: Bool, on connection: PostgresConnection
    ) throws -> Page {
        let roots = try connection.query(CustomerRebuild.select, [.text(cursor), .int8(Int64(limit))]).map {
            try $0.text("root")
        }
        var page = Page(next: roots.last, customers: roots.count)
        for group in try IdentityGroup.load(roots, on: connection) {
            let faults = group.faults
            page.differences += writes && !faults.isEmpty ? try repair(group, on: connection) : faults
        }
        return page
    }

    /// Transactions that join or delete lock the same rows; what they did since is checked again, and is no fault. What
    /// is then.
    private func repair(_ group: IdentityGroup, on connection: PostgresConnection) throws -> [Difference] {
        guard let root = group.roots.keys.min() else { return [] }
        _ = try CustomerTable.lock(group.ids.keys.sorted(), on: connection)
        let current = try IdentityGroup.closure(of: root, on: connection)
        try current.repair(on: connection)
        return current.faults
    }
}
