import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Gives a restored database back what a journal has and it lost: each entry once, in the order of the file, a few in each
/// transaction, so that a command that is killed goes on where it was. Deletions come first, and nothing that they reach is
/// applied. Records follow in the same transactions; consumers are told nothing, because they were told before.
package struct JournalApplication {
    private let file: JournalHandle
    private let foldSettings: FoldSettings
    private let patience: Int64
    private let isDry: Bool

    /// - Parameters:
    ///   - patience: how long the news of a renewal is waited for; for timers.
    ///   - isDry: only compare.
    /// - Throws: `JournalFailure`.
    package init(of path: String, patience: Duration, foldSettings: FoldSettings, isDry: Bool) throws {
        file = try JournalHandle(path)
        self.foldSettings = foldSettings
        self.patience = patience.milliseconds
        self.isDry = isDry
    }

    package struct Counts: Sendable, Equatable {
        package var applied = 0
        package var already = 0
        /// Entries that deletions reach, and those that what was done here since rules out.
        package var refused = 0
        /// The ids of endpoints that were changed or removed here since.
        package var changedEndpoints: [String] = []

        package init(applied: Int = 0, already: Int = 0, refused: Int = 0) {
            self.applied = applied
            self.already = already
            self.refused = refused
        }

        package var all: Int { applied + already + refused }
    }

    private static let pageSize = 200

    /// Compares first, and counts then: a deletion that is made once more also brings what entries of its own say.
    ///
    /// - Parameters:
    ///   - sealer: the keys of this host; nil: whether they open the journal's secrets does not matter.
    ///   - progress: gets how many entries are done, of how many.
    /// - Throws: `JournalFailure`, before anything is changed.
    package func run(
        sealer: SecretSealer?, on connection: PostgresConnection, progress: (Int, Int) -> Void
    ) throws -> Counts {
        let known = try DeletedNames(on: connection)
        let content = try JournalContent(file, names: known.emptied)
        if let sealer {
            for endpoint in content.endpoints where !JournalRows.opens(endpoint.last, with: sealer) {
                guard try JournalRows.put(endpoint, writes: false, on: connection) == .apply else { continue }
                throw JournalFailure.lostKey(file: file.path, endpoint: endpoint.id)
            }
        }
        var names = known
        names.formUnion(content.deleted)
        let work = Work(content: content, known: known, names: names)
        let counts = try pass(work, isDry: true, on: connection) { progress(isDry ? $0 : 0, $1) }
        if !isDry { _ = try pass(work, isDry: false, on: connection, progress: progress) }
        return counts
    }

    /// What both passes need.
    private struct Work {
        let content: JournalContent
        /// The deletions of the database, and these with those of the file.
        let known: DeletedNames
        let names: DeletedNames
    }

    private func pass(
        _ work: Work, isDry: Bool, on connection: PostgresConnection, progress: (Int, Int) -> Void
    ) throws -> Counts {
        let (content, names) = (work.content, work.names)
        var counts = Counts(already: content.replaced)
        // First: what deletions write into the log must not take the numbers of the journal's actions.
        if !isDry { try JournalRows.passNumbers(content.lastAction, on: connection) }
        try applyDeletions(content, work.known, isDry, &counts, on: connection)
        let now = try connection.serverTime()
        let purchases = PurchaseRebuild(
            confirmationRule: try ExpiryConfirmationRule.read(patience: patience, now: now, on: connection),
            foldSettings: foldSettings)
        try applyKeys(content, isDry, &counts, on: connection)
        var page: [JournalEntry] = []
        var reader = try file.reader()
        reading: while true {
            let next = try reader.next()
            if case .line(.entry(let entry)) = next {
                switch entry.kind {
                case .customer, .action, .fact, .attribute: page.append(entry)
                case .sealingKey, .apiKey, .consoleUser, .operatorKey, .endpoint, .deletion: break
                }
            }
            let isEnd = if case .line = next { false } else { true }
            if page.count >= JournalApplication.pageSize || isEnd {
                try apply(page, names, content, purchases, isDry, &counts, on: connection)
                page.removeAll()
                progress(counts.all, content.entries)
            }
            if isEnd { break reading }
        }
        return counts
    }

    // MARK: - Keys, endpoints, deletions

    private func applyKeys(
        _ content: JournalContent, _ isDry: Bool, _ counts: inout Counts, on connection: PostgresConnection
    ) throws {
        var entries: [JournalEntry.Kind: [JournalEntry]] = [:]
        var reader = try file.reader()
        while case .line(let line) = try reader.next() {
            guard case .entry(let entry) = line, JournalRows.keys.contains(entry.kind) else { continue }
            entries[entry.kind, default: []].append(entry)
        }
        var new: [JournalEntry.Kind: [JournalEntry]] = [:]
        for (kind, all) in entries {
            let places = try JournalRows.missing(kind, all, on: connection)
            new[kind] = all.enumerated().filter { places.contains($0.offset) }.map(\.element)
            counts.applied += places.count
            counts.already += all.count - places.count
        }
        if !isDry {
            try connection.transaction {
                for kind in JournalRows.keys { try JournalRows.add(kind, new[kind] ?? [], on: connection) }
            }
        }
        for endpoint in content.endpoints {
            switch try JournalRows.put(endpoint, writes: !isDry, on: connection) {
            case .apply: counts.applied += 1
            case .nothing: counts.already += 1
            case .refuse:
                counts.refused += 1
                counts.changedEndpoints.append(endpoint.id)
            }
        }
    }

    private func applyDeletions(
        _ content: JournalContent, _ known: DeletedNames, _ isDry: Bool, _ counts: inout Counts,
        on connection: PostgresConnection
    ) throws {
        var hashes: [[UInt8]: (place: Int, at: Int64)] = [:]
        var missing: [Int] = []
        var seen: Set<[Int64]> = []
        for (place, deletion) in content.deletions.enumerated() {
            let lost = deletion.deletedHashes.filter { hash, at in known.time(ofHash: hash).map { $0 < at } ?? true }
            let identity = [deletion.row["number"]?.intValue ?? 0, deletion.row["at_ms"]?.intValue ?? 0]
            guard !lost.isEmpty, seen.insert(identity).inserted else {
                counts.already += 1
                continue
            }
            counts.applied += 1
            missing.append(place)
            for (hash, at) in lost where at >= hashes[hash]?.at ?? .min { hashes[hash] = (place, at) }
        }
        guard !isDry, !missing.isEmpty else { return }
        let reached = Dictionary(
            grouping: try JournalRows.reached(by: hashes, known, on: connection), by: \.place)
        for place in missing {
            try delete(reached[place, default: []].map(\.id), content.deletions[place], on: connection)
        }
    }

    /// Makes a deletion once more, and notes it for names that no customer has.
    private func delete(_ ids: [String], _ deletion: JournalEntry, on connection: PostgresConnection) throws {
        let row = deletion.row
        guard let at = row["at_ms"]?.intValue, let action = row["action"]?.intValue else { return }
        let policy = row["policy"]?.stringValue.flatMap(DeletionPolicy.init(rawValue:)) ?? .pseudonymise
        let origin = ActionTable.Origin(
            actor: row["actor"]?.stringValue ?? "journal", reason: row["reason"]?.stringValue)
        let actions = CustomerActions(origin: origin, foldSettings: foldSettings)
        for id in ids {
            do {
                _ = try actions.delete(
                    id, policy: policy, again: CustomerActions.PastDeletion(at: at, action: action), on: connection)
            } catch CustomerActions.Rejection.unknown {
                // It was another id of one that is deleted.
            }
        }
        try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            try DeletionTable.restore(
                policy, deletion.deletedHashes.map(\.hash), ids: row["ids"]?.intValue ?? 0, at: at, action: action,
                by: origin, on: connection)
        }
    }

    // MARK: - The log

    /// What a page of entries comes to.
    private struct Missing {
        var customers: [JournalEntry] = []
        var actions: [JournalEntry] = []
        var facts: [FactTable.New] = []
        var attributes: [JournalEntry] = []

        var isEmpty: Bool { customers.isEmpty && actions.isEmpty && facts.isEmpty && attributes.isEmpty }
    }

    private func apply(
        _ page: [JournalEntry], _ names: DeletedNames, _ content: JournalContent, _ purchases: PurchaseRebuild,
        _ isDry: Bool, _ counts: inout Counts, on connection: PostgresConnection
    ) throws {
        let free = page.filter { !names.cover($0) && ($0.kind != .fact || JournalRows.fact($0) != nil) }
        counts.refused += page.count - free.count
        let missing = try missing(free, on: connection)
        let count = missing.customers.count + missing.actions.count + missing.facts.count + missing.attributes.count
        counts.applied += count
        counts.already += free.count - count
        guard !isDry, !missing.isEmpty else { return }
        let moved = missing.actions.flatMap(JournalApplication.purchases)
        let keys = Array(Set(moved + missing.facts.map(\.key))).sorted {
            ($0.lane.number, $0.originalTransactionID) < ($1.lane.number, $1.originalTransactionID)
        }
        for attempt in 1... {
            do {
                try connection.transaction {
                    let now = try Fence.hold(Set(keys.map(\.lane)), on: connection)
                    try write(missing, keys, content, purchases, now: now, on: connection)
                }
                break
            } catch let error as PostgresError where error.isVictim && attempt < 10 {
                continue
            }
        }
    }

    private func missing(_ entries: [JournalEntry], on connection: PostgresConnection) throws -> Missing {
        func lacking(_ kind: JournalEntry.Kind) throws -> [JournalEntry] {
            let all = entries.filter { $0.kind == kind }
            guard !all.isEmpty else { return [] }
            let places = try JournalRows.missing(kind, all, on: connection)
            return all.enumerated().filter { places.contains($0.offset) }.map(\.element)
        }
        return Missing(
            customers: try lacking(.customer), actions: try lacking(.action),
            facts: try lacking(.fact).compactMap(JournalRows.fact), attributes: try lacking(.attribute))
    }

    private func write(
        _ missing: Missing, _ keys: [PurchaseKey], _ content: JournalContent, _ purchases: PurchaseRebuild, now: Int64,
        on connection: PostgresConnection
    ) throws {
        try JournalRows.addActions(missing.actions, on: connection)
        try FactTable.insert(missing.facts, on: connection)
        try JournalRows.addCustomers(missing.customers, on: connection)
        _ = try purchases.check(keys, writes: true, now: now, on: connection)
        // What an app said of a price changes documents and reports, and nothing in the record.
        try PurchaseTable.touch(Set(missing.facts.map(\.key)), now: now, on: connection)
        let named = missing.actions.map { entry in
            (
                kind: entry.row["kind"]?.stringValue.flatMap(ActionTable.Kind.init(rawValue:)),
                ids: [entry.row["app_user_id"]?.stringValue, entry.row["other"]?.stringValue].compactMap { $0 },
                at: entry.at, number: entry.row["seq"]?.intValue ?? 0
            )
        }
        try CustomerTable.restore(
            try CustomerRebuild().missing(of: named, content.ends, on: connection), on: connection)
        let ids = Set(named.flatMap(\.ids)).union(missing.customers.flatMap(\.names))
        try IdentityGroup.regroup(try IdentityGroup.named(ids, on: connection), on: connection)
        try JournalRows.addAttributes(missing.attributes, on: connection)
        try AccountDue.note(ids, on: connection)
    }

    /// The purchases that an action moved.
    private static func purchases(_ entry: JournalEntry) -> [PurchaseKey] {
        (entry.detail?["purchases"]?.arrayValue ?? []).compactMap { item in
            guard let app = item["app"]?.stringValue, let id = item["original_transaction_id"]?.stringValue,
                let environment = item["environment"]?.stringValue.flatMap(StoreEnvironment.init)
            else { return nil }
            return PurchaseKey(app: app, environment: environment, originalTransactionID: id)
        }
    }
}
