import Base
import Daemon
import Database
import Postgres

/// Puts pseudonyms for the ids of a deleted customer in the log of actions, and in what consumers were told of these. Entries since
/// the deletion are of another customer who has such an id now.
struct ActionRedactor {
    let deletion: DeletionTable.Entry
    let names: Pseudonyms

    private static let update = """
        UPDATE entitled.action a SET app_user_id = t.one, other = t.other, reason = t.reason, detail = t.detail
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[]) AS t(seq, one, other, reason, detail)
        WHERE a.seq = t.seq
        """
    /// Nowhere in a stage is its beginning.
    static let resetRebuilds = """
        UPDATE entitled.rebuild SET cursor = '{}' WHERE cursor && $1::text[] RETURNING 1
        """

    private static let hold = """
        SELECT FROM entitled.action
        WHERE seq <= $2 AND (app_user_id = ANY($1::text[]) OR other = ANY($1::text[])) ORDER BY seq FOR UPDATE
        """

    /// All of it in one transaction: a rebuild sees either all ids or all pseudonyms.
    func run(on connection: PostgresConnection) throws {
        while try !runOnce(on: connection) {}
        FailPoint.erasureAfterCommit.pass()
    }

    private func entries(on connection: PostgresConnection) throws -> [ActionTable.Entry] {
        try ActionTable.entries(naming: names.names.keys.sorted(), on: connection).filter {
            $0.number <= deletion.action
        }
    }

    /// False where lanes were not held of which it turned out that they are concerned.
    private func runOnce(on connection: PostgresConnection) throws -> Bool {
        let lanes = Set(EventRedactor.transfers(of: try entries(on: connection)).map(\.lane))
        let purchases = try ChangeRedaction.purchases(of: deletion.id, on: connection)
        let found = try ChangeRedaction.search(names, purchases, on: connection)
        return try connection.transaction {
            _ = try Fence.hold(lanes, on: connection)
            guard try !DeletionTable.lockLog(of: deletion.id, on: connection) else { return true }
            // An entry may name customers of two deletions, and the other one's erasure may have just changed it.
            let ids = names.names.keys.sorted()
            _ = try connection.query(ActionRedactor.hold, [.texts(ids), .int8(deletion.action)])
            let entries = try entries(on: connection)
            let told = EventRedactor.transfers(of: entries)
            guard lanes.isSuperset(of: told.map(\.lane)) else { return false }
            // Purchases that are to be erased are in the list until they are.
            let erased =
                deletion.policy == .erase ? try DeletionTable.owned(of: deletion.id, on: connection) : []
            _ = try connection.query(
                ActionRedactor.update,
                [
                    .int8s(entries.map(\.number)), .texts(entries.map { names[$0.appUserID] ?? $0.appUserID }),
                    .texts(entries.map { entry in entry.other.map { names[$0] ?? $0 } }),
                    .texts(entries.map { $0.origin.reason.map(names.replaced(inText:)) }),
                    .texts(entries.map { detail($0, without: erased)?.text }),
                ])
            var counts: DeletionTable.Counts = ["action": Int64(entries.count)]
            counts.merge(
                try ChangeRedaction.run(deletion, names, purchases, found, on: connection), uniquingKeysWith: +)
            let events = EventRedactor(deletion: deletion.id)
            counts.merge(try events.pseudonymise(told, names, on: connection), uniquingKeysWith: +)
            counts["rebuild"] = Int64(
                try connection.query(ActionRedactor.resetRebuilds, [.texts(names.names.keys.sorted())]).count)
            FailPoint.erasureBeforeCommit.pass()
            try DeletionTable.count(counts, isLogSwept: true, of: deletion.id, on: connection)
            return true
        }
    }

    private func detail(_ entry: ActionTable.Entry, without erased: Set<String>) -> JSON? {
        guard let members = entry.detail?.members else { return entry.detail }
        return .object(
            members.map { member in
                if member.name == ActionTable.New.originalID, let id = member.value.stringValue {
                    return JSON.Member(name: member.name, value: .string(names[id] ?? id))
                }
                guard !erased.isEmpty, member.name == "purchases", let purchases = member.value.arrayValue else {
                    return member
                }
                let left = purchases.filter { purchase in
                    !(purchase["original_transaction_id"]?.stringValue.map(erased.contains) ?? false)
                }
                return JSON.Member(name: member.name, value: .array(left))
            })
    }
}
