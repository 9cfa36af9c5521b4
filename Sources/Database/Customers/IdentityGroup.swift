import Base
import Postgres
import Subscriptions

/// The ids of a customer, of all others whom the log joins to it, and what the log says about them.
package struct IdentityGroup {
    /// Original ids, and whether each has its customer.
    package private(set) var roots: [String: Bool]
    /// What customers have in place of the configuration's restore behaviour, by original id.
    package private(set) var behaviors: [String: RestoreBehavior]
    /// What the log says about it, the oldest first.
    private(set) var words: [ActionTable.RestoreWord]
    /// Each id with the original id that it has now, and when it was first seen, in ms.
    package private(set) var ids: [String: (root: String, firstSeen: Int64)]
    /// What actions joined, the oldest first.
    private(set) var joins: [ActionTable.Join]

    /// Ids that belong together.
    package struct Component: Equatable {
        /// The original id that they should have.
        package let root: String
        package let ids: [String]
        /// Of the original id, in ms.
        package let firstSeen: Int64
        package let restoreBehavior: RestoreBehavior?
    }

    package var components: [Component] {
        var parents = Dictionary(uniqueKeysWithValues: ids.keys.map { ($0, $0) })
        func top(of id: String) -> String {
            var id = id
            while let parent = parents[id], parent != id { id = parent }
            return id
        }
        for (one, other, _) in joins where ids[one] != nil && ids[other] != nil {
            parents[top(of: one)] = top(of: other)
        }
        return Dictionary(grouping: ids.keys, by: top).values.compactMap { members in
            // An original id that is one of them stays; of several the one that the log says, else who was seen first.
            let standing = members.filter { ids[$0]?.root == $0 }
            let told = standing.count == 1 ? nil : joins.last { members.contains($0.one) }?.original
            let candidates = told.map { [$0] }?.filter(members.contains) ?? []
            let seen = (candidates.isEmpty ? (standing.isEmpty ? members : standing) : candidates).map {
                CustomerTable.seniority(of: $0, firstSeen: ids[$0]?.firstSeen ?? 0)
            }
            guard let first = seen.min(by: { $0 < $1 }) else { return nil }
            return Component(
                root: first.2, ids: members.sorted(), firstSeen: first.0,
                restoreBehavior: words.last { members.contains($0.appUserID) }?.behavior)
        }.sorted { $0.root < $1.root }
    }
}

extension IdentityGroup {
    private static let select = """
        SELECT t.root, c.original_app_user_id IS NOT NULL AS has_customer, a.id, a.first_seen_ms, c.restore_behavior
        FROM unnest($1::text[]) AS t(root)
        LEFT JOIN entitled.customer c ON c.original_app_user_id = t.root
        LEFT JOIN entitled.app_user_id a ON a.original_app_user_id = t.root
        """

    private static let selectRoots = """
        SELECT DISTINCT original_app_user_id FROM entitled.app_user_id WHERE id = ANY($1::text[])
        """

    /// The groups of these original ids, each once: by the first of its original ids.
    package static func load(_ roots: [String], on connection: PostgresConnection) throws -> [IdentityGroup] {
        let whole = try IdentityGroup(roots, on: connection)
        var groups: [IdentityGroup] = []
        for root in roots {
            let group = whole.part(of: root)
            guard !group.isClosed else {
                groups.append(group)
                continue
            }
            let closure = try closure(of: root, on: connection)
            if closure.roots.keys.min() == root { groups.append(closure) }
        }
        return groups
    }

    /// The group with everybody whom the log joins to it, and whom it joins to those.
    package static func closure(of root: String, on connection: PostgresConnection) throws -> IdentityGroup {
        var roots: Set<String> = [root]
        while true {
            let group = try IdentityGroup(roots.sorted(), on: connection)
            let rows = try connection.query(selectRoots, [.texts(group.strangers.sorted())])
            let more = Set(try rows.map { try $0.text("original_app_user_id") })
            if roots.isSuperset(of: more) { return group }
            roots.formUnion(more)
        }
    }

    private init(_ roots: [String], on connection: PostgresConnection) throws {
        (self.roots, ids, behaviors) = ([:], [:], [:])
        for row in try connection.query(IdentityGroup.select, [.texts(roots)]) {
            let root = try row.text("root")
            self.roots[root] = try row.bool("has_customer")
            if let id = try row.optionalText("id") { ids[id] = (root, try row.int("first_seen_ms")) }
            behaviors[root] = try row.optionalText("restore_behavior").flatMap(RestoreBehavior.init(rawValue:))
        }
        joins = try ActionTable.joins(of: ids.keys.sorted(), on: connection)
        words = try ActionTable.restoreWords(about: ids.keys.sorted(), on: connection)
    }

    private func part(of root: String) -> IdentityGroup {
        var part = self
        part.roots = roots.filter { $0.key == root }
        part.ids = ids.filter { $0.value.root == root }
        part.behaviors = behaviors.filter { $0.key == root }
        part.words = words.filter { part.ids[$0.appUserID] != nil }
        part.joins = joins.filter { part.ids[$0.one] != nil || part.ids[$0.other] != nil }
        return part
    }

    /// Whether no customer outside the group is joined.
    private var isClosed: Bool { strangers.isEmpty }

    private var strangers: Set<String> { Set(joins.flatMap { [$0.one, $0.other] }).subtracting(ids.keys) }

    // MARK: - Mending

    /// The ids among these about whose customers the log says something: what joins them, or their restore behaviour.
    package static func named(_ ids: Set<String>, on connection: PostgresConnection) throws -> Set<String> {
        let joins = try ActionTable.joins(of: ids.sorted(), on: connection).flatMap { [$0.one, $0.other] }
        let words = try ActionTable.restoreWords(about: ids.sorted(), on: connection).map(\.appUserID)
        return ids.intersection(joins + words)
    }

    /// Brings the customers of these ids, and all whom joins make one with them, to what the joins say.
    package static func regroup(_ ids: Set<String>, on connection: PostgresConnection) throws {
        var done: Set<String> = []
        for id in ids.sorted() where !done.contains(id) {
            guard let root = try CustomerTable.lock([id], on: connection).first ?? nil else { continue }
            let group = try closure(of: root.originalAppUserID, on: connection)
            _ = try CustomerTable.lock(group.ids.keys.sorted(), on: connection)
            try group.repair(on: connection)
            done.formUnion(group.ids.keys)
        }
    }

    /// Writes the components that there should be. The customers are locked.
    package func repair(on connection: PostgresConnection) throws {
        for component in components {
            try CustomerTable.regroup(
                component.ids, under: component.root, firstSeen: component.firstSeen, on: connection)
            try CustomerTable.setRestoreBehavior(component.restoreBehavior, of: component.root, on: connection)
        }
        try CustomerTable.removeEmpty(roots.keys.sorted(), on: connection)
    }
}
