import Base
import Database
import Postgres
import Subscriptions

/// Purchases again from their facts, some of a lane at a time.
package struct PurchaseRebuild {
    let confirmationRule: ExpiryConfirmationRule
    /// ms of grace where Apple says that there is some and gives no end.
    let foldSettings: FoldSettings
    private let products = ProductTable()
    private let settlement: OwnerSettlement

    package init(confirmationRule: ExpiryConfirmationRule, foldSettings: FoldSettings) {
        settlement = OwnerSettlement(salt: OwnerSalt(), foldSettings: foldSettings)
        self.confirmationRule = confirmationRule
        self.foldSettings = foldSettings
    }

    /// Where a page ends: the key of its last purchase.
    typealias Cursor = PurchaseKey

    package struct Page {
        package var keys: [PurchaseKey] = []
        package var purchases = 0
        package var differences: [Difference] = []
    }

    /// What has facts, and what has a record without any.
    private static let select = """
        SELECT app, environment, original_transaction_id FROM (
            (SELECT DISTINCT original_transaction_id, app, environment FROM entitled.fact
            WHERE lane = $1 AND (original_transaction_id, app, environment) > ($2, $3, $4)
            ORDER BY 1, 2, 3 LIMIT $5)
            UNION
            (SELECT original_transaction_id, app, environment FROM entitled.purchase
            WHERE lane = $1 AND (original_transaction_id, app, environment) > ($2, $3, $4)
            ORDER BY 1, 2, 3 LIMIT $5)
        ) AS found ORDER BY original_transaction_id, app, environment LIMIT $5
        """

    /// The next purchases of a lane, in the order of their ids; none: it is done.
    func keys(
        of lane: Lane, after cursor: Cursor?, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        let rows = try connection.query(
            PurchaseRebuild.select,
            [
                .int2(lane.number), .text(cursor?.originalTransactionID ?? ""), .text(cursor?.app ?? ""),
                .int2(cursor?.environment.code ?? -1), .int4(Int32(limit)),
            ])
        return try rows.map { try PurchaseKey($0) }
    }

    /// Compares a page with its records, and writes them anew where they differ. The lane is held, or the transaction
    /// sees one moment.
    package func check(
        _ keys: [PurchaseKey], writes: Bool, now: Int64, on connection: PostgresConnection
    ) throws -> Page {
        let known = try FactTable.unfolded(keys, on: connection)
        let records = try PurchaseTable.records(keys, on: connection)
        var claims: [PurchaseKey: PurchaseClaims] = [:]
        for (key, known) in zip(keys, known) where !key.isGrant { claims[key] = PurchaseClaims(of: known.facts) }
        if writes { try settlement.hold(Array(claims.keys), on: connection) }
        let judged = try settlement.expected(claims, now: now, on: connection)
        let findings = try compare(keys, known, records, judged, now: now, on: connection)
        if writes {
            try write(
                findings, keys, known, judged.claims.filter { claims[$0.key] != nil }, now: now, on: connection)
        }
        return findings.page
    }

    /// What a page lacks, and what is to be written for it.
    private struct Findings {
        var page: Page
        /// By the keys of the page; nil: a purchase has none.
        var owners: [String?] = []
        /// Those that facts come to.
        var purchases: [Purchase] = []
        var misfolded: [PurchaseKey] = []
        /// Records that are to be written, and those that no fact is a reason for.
        var wanted: [PurchaseRecord] = []
        var unfounded: [PurchaseKey] = []
        var unidentified: [(identifier: String, key: PurchaseKey)] = []
        /// On a cluster, records that would not be found by their owners or accounts.
        var unplaced: [PurchaseRecord] = []
        /// Ids that no customer has, and since when accounts give them, in ms.
        var nameless: Set<String> = []
        var since: [String: Int64] = [:]
    }

    private func compare(
        _ keys: [PurchaseKey], _ known: [KnownFacts], _ records: [PurchaseRecord?],
        _ judged: OwnerSettlement.Expected, now: Int64, on connection: PostgresConnection
    ) throws -> Findings {
        var findings = Findings(page: Page(keys: keys))
        findings.owners = zip(keys, known).map { key, known in
            key.isGrant ? known.facts.assignments.newest?.owner : judged.owners[key]
        }
        findings.page.differences += joins(judged, keys)
        findings.misfolded = try misfolded(keys, known, on: connection)
        findings.page.differences += findings.misfolded.map {
            Difference(subject: .purchase($0), member: "folded_state", found: nil, expected: nil)
        }
        compareRecords(&findings, known, records, judged, now: now)
        findings.unidentified = try unidentified(findings.purchases, on: connection)
        findings.page.differences += findings.unidentified.map { name, key in
            Difference(subject: .purchase(key), member: "identifier", found: nil, expected: .string(name))
        }
        // The owner that a record gets is noted with it.
        findings.unplaced = try PurchaseLanes.unnoted(
            zip(records, findings.owners).compactMap { $0?.owner == $1 ? $0 : nil }, on: connection)
        findings.page.differences += findings.unplaced.map {
            Difference(subject: .purchase($0.key), member: "lane", found: nil, expected: .string($0.owner))
        }
        let joined = judged.ids.filter { account, _ in judged.first[account].map(keys.contains) ?? false }
        findings.since = joined.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: min) }
        findings.nameless = try missing(
            owners: findings.owners.compactMap { $0 } + findings.since.keys, on: connection)
        findings.page.differences += findings.nameless.sorted().map {
            Difference(subject: .customer($0), member: "app_user_id", found: nil, expected: .string($0))
        }
        return findings
    }

    private func compareRecords(
        _ findings: inout Findings, _ known: [KnownFacts], _ records: [PurchaseRecord?],
        _ judged: OwnerSettlement.Expected, now: Int64
    ) {
        for (index, key) in findings.page.keys.enumerated() {
            let (known, record) = (known[index], records[index])
            let purchase = Purchase(folding: known.facts, key: key, foldSettings: foldSettings)
            if let purchase { findings.purchases.append(purchase) }
            guard let purchase, let owner = findings.owners[index] else {
                guard let record else { continue }
                findings.unfounded.append(record.key)
                findings.page.differences.append(
                    Difference(
                        subject: .purchase(record.key), member: "record", found: .string(record.productID),
                        expected: nil))
                continue
            }
            findings.page.purchases += 1
            let expected = PurchaseRecord(
                purchase, owner: owner, wake: wake(purchase, known, record?.wake, now),
                claims: judged.claims[purchase.key], tell: record?.tell,
                told: record?.owner == owner ? record?.told : nil)
            findings.page.differences += expected.differences(from: record)
            // A wake that other settings give is no difference, and is set all the same.
            if expected != record { findings.wanted.append(expected) }
        }
    }

    /// - Parameter claims: as they were judged, of the purchases of the page.
    private func write(
        _ findings: Findings, _ keys: [PurchaseKey], _ known: [KnownFacts], _ claims: [PurchaseKey: PurchaseClaims],
        now: Int64, on connection: PostgresConnection
    ) throws {
        try PurchaseFoldTable.write(
            Dictionary(uniqueKeysWithValues: zip(keys, known).filter { findings.misfolded.contains($0.0) }),
            on: connection)
        let seen = try firstSeen(findings.nameless, zip(keys, findings.owners), on: connection)
        try CustomerTable.restore(
            findings.since.filter { findings.nameless.contains($0.key) }.merging(seen, uniquingKeysWith: min),
            on: connection)
        _ = try settlement.settle(claims, isWritten: true, tells: false, by: .worker, now: now, on: connection)
        try PurchaseLanes.noteAll(of: findings.unplaced, on: connection)
        try PurchaseTable.write(findings.wanted, now: now, on: connection)
        try PurchaseTable.remove(findings.unfounded, on: connection)
        try PurchaseTable.identify(findings.unidentified, on: connection)
        try products.note(findings.purchases, now: now, on: connection)
    }

    /// Purchases whose kept states are not what their facts come to.
    private func misfolded(
        _ keys: [PurchaseKey], _ known: [KnownFacts], on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        try PurchaseFoldTable.read(keys, on: connection).sorted { $0.key < $1.key }
            .filter { place, folded in !folded.isSame(as: known[place]) }.map { keys[$0.key] }
    }

    /// Ids that accounts join otherwise than the database has it; each account is told of with the first of its purchases.
    private func joins(_ judged: OwnerSettlement.Expected, _ keys: [PurchaseKey]) -> [Difference] {
        judged.joins.flatMap { account, joins -> [Difference] in
            guard joins.found != joins.expected, judged.first[account].map(keys.contains) ?? true else { return [] }
            func difference(_ join: AccountOwners.Join, _ found: String?, _ expected: String?) -> Difference {
                Difference(
                    subject: .customer(join.one), member: "alias", found: .text(found), expected: .text(expected))
            }
            return joins.found.subtracting(joins.expected).map { difference($0, $0.other, nil) }
                + joins.expected.subtracting(joins.found).map { difference($0, nil, $0.other) }
        }
    }

    /// Only what is in the future is armed. What is armed in a record stays so, or is armed for sooner: with less
    /// patience the end that it is to tell may lie behind us, and a timer that fires in vain is set anew.
    private func wake(_ purchase: Purchase, _ known: KnownFacts, _ armed: Int64?, _ now: Int64) -> Int64? {
        let confirmation = confirmationRule.confirmation(of: purchase.key).knowing(late: known.late)
        let next = known.facts.nextWake(of: purchase, after: now, confirmation: confirmation)
        return [armed, next].compactMap { $0 }.min()
    }

    private static let selectIdentifiers = """
        SELECT t.place FROM unnest($1::text[], $2::text[], $3::int2[], $4::text[]) WITH ORDINALITY
            AS t(identifier, app, environment, otid, place)
        JOIN entitled.purchase_identifier i ON i.identifier = t.identifier AND i.app = t.app
            AND i.environment = t.environment AND i.original_transaction_id = t.otid
            /* cluster: AND i.lane = ANY($5::int2[]) */
        """

    /// Names under which purchases cannot be found.
    private func unidentified(
        _ purchases: [Purchase], on connection: PostgresConnection
    ) throws -> [(identifier: String, key: PurchaseKey)] {
        let names = purchases.flatMap { purchase in
            purchase.identifiers.sorted().map { (identifier: $0, key: purchase.key) }
        }
        guard !names.isEmpty else { return [] }
        let rows = try connection.query(
            PurchaseRebuild.selectIdentifiers,
            [
                .texts(names.map(\.identifier)), .texts(names.map(\.key.app)),
                .int2s(names.map(\.key.environment.code)), .texts(names.map(\.key.originalTransactionID)),
            ] + (connection.isCluster ? [.int2s(Set(names.map(\.key.lane.number)).sorted())] : []))
        let found = Set(try rows.map { Int(try $0.int("place")) - 1 })
        let unnoted = try PurchaseLanes.unnoted(continuations: names, on: connection)
        return names.indices.filter { !found.contains($0) || unnoted.contains($0) }.map { names[$0] }
    }

    private func missing(owners: [String], on connection: PostgresConnection) throws -> Set<String> {
        let wanted = Set(owners)
        return wanted.subtracting(try CustomerTable.known(wanted, on: connection))
    }

    private static let selectFirst = """
        SELECT t.owner, min(f.seq) AS seq FROM \(PurchaseKeys.unnest("owner text"))
        JOIN entitled.fact f ON \(PurchaseKeys.equal("f"))
        GROUP BY 1
        """

    /// When each of these ids came with a fact, in ms.
    private func firstSeen(
        _ ids: Set<String>, _ owners: some Sequence<(PurchaseKey, String?)>, on connection: PostgresConnection
    ) throws -> [String: Int64] {
        let owned = owners.compactMap { key, owner in
            owner.flatMap { ids.contains($0) ? (key: key, owner: $0) : nil }
        }
        guard !owned.isEmpty else { return [:] }
        let rows = try connection.query(
            PurchaseRebuild.selectFirst,
            PurchaseKeys(owned.map(\.key)).parameters + [.texts(owned.map(\.owner))])
        var seen: [String: Int64] = [:]
        for row in rows {
            seen[try row.text("owner")] = SequenceGenerator.instant(of: try row.int("seq"))
        }
        return seen
    }
}

extension PurchaseRecord {
    /// What another record of the same purchase says otherwise. That a timer is armed for another instant follows from
    /// settings and outages; that one is missing does not.
    func differences(from found: PurchaseRecord?) -> [Difference] {
        guard let found else {
            return [
                Difference(subject: .purchase(key), member: "record", found: nil, expected: .string(productID))
            ]
        }
        var differences: [Difference] = []
        func compare(_ member: String, _ found: JSON, _ expected: JSON) {
            guard found != expected else { return }
            differences.append(
                Difference(subject: .purchase(key), member: member, found: found, expected: expected))
        }
        compare("owner", .string(found.owner), .string(owner))
        compare("product_id", .string(found.productID), .string(productID))
        compare("access_ends", .date(found.accessEnds), .date(accessEnds))
        compare("grace_ends", .date(found.graceEnds), .date(graceEnds))
        compare("revoked", .date(found.revoked), .date(revoked))
        compare("will_renew", .bool(found.willRenew), .bool(willRenew))
        // Of a record of before its claims are made when it is looked at first.
        if found.claims != claims, let claims, found.claims != nil { compare("claims", .text(nil), .text("\(claims)")) }
        if (found.wake == nil) != (wake == nil) { compare("wake", .date(found.wake), .date(wake)) }
        return differences
    }
}
