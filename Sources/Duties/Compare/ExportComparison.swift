import Base
import Database
import Postgres
import Subscriptions

/// Compares another system's export with the records here, row by row. Nothing is written, and Apple is not asked.
///
/// A few hundred rows are in memory at a time, and 64 bits for each transaction of the file, so that purchases are found
/// that the file lacks. All is read in one snapshot of the database.
package struct ExportComparison: Sendable {
    private let file: ImportFile
    private let app: String
    private let environments: [StoreEnvironment]
    private let catalogue: EntitlementCatalogue
    private let foldSettings: FoldSettings
    private let tolerance: Int64

    private static let batch = 500
    private static let isolation = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    /// - Parameters:
    ///   - environments: of which the app takes data.
    ///   - foldSettings: what the configuration adds to facts.
    ///   - tolerance: ends that differ by so many ms are one.
    package init(
        _ file: ImportFile, app: String, environments: [StoreEnvironment], catalogue: EntitlementCatalogue,
        foldSettings: FoldSettings, tolerance: Int64
    ) {
        self.file = file
        self.app = app
        self.environments = environments
        self.catalogue = catalogue
        self.foldSettings = foldSettings
        self.tolerance = tolerance
    }

    /// What the file names.
    private struct Named {
        private var hashes: Set<Int> = []
        /// Of the newest transaction, in ms.
        private(set) var newest: Int64?

        mutating func add(_ row: ComparedRow) {
            if let id = row.transactionID { hashes.insert(Named.hash("transaction", id)) }
            if row.transactionID == nil, let id = row.originalTransactionID {
                hashes.insert(Named.hash("purchase", id))
            }
            if let start = row.start { newest = max(newest ?? start, start) }
        }

        func has(_ purchase: Purchase) -> Bool {
            hashes.contains(Named.hash("transaction", purchase.latest.id))
                || hashes.contains(Named.hash("purchase", purchase.key.originalTransactionID))
        }

        private static func hash(_ kind: String, _ id: String) -> Int {
            var hasher = Hasher()
            hasher.combine(kind)
            hasher.combine(id)
            return hasher.finalize()
        }
    }

    /// A purchase that rows are compared with.
    private struct Record {
        let purchase: Purchase
        let owner: String
        let ownerIDs: [String]
    }

    /// - Parameters:
    ///   - progress: gets the count so far, and the part that is done, from 0 to 1.
    ///   - unreadable: gets each row that cannot be compared, and why.
    ///   - found: gets some differences at a time.
    package func run(
        on connection: PostgresConnection, progress: (ComparisonCount, Double) -> Void,
        unreadable: (_ line: Int64, _ reason: String) -> Void, found: ([ExportDifference]) throws -> Void
    ) throws -> ComparisonCount {
        try connection.transaction(opening: [ExportComparison.isolation]) { _ in
            var count = ComparisonCount()
            var named = Named()
            var reader = try file.reader(at: CSVReader.Position())
            _ = try reader.next()
            var rows: [ComparedRow] = []
            while let record = try reader.next() {
                count.rows += 1
                switch ComparedRow.read(record, file.layout, asOf: file.modified) {
                case .otherStore: count.otherStores += 1
                case .flawed(let reason):
                    count.unreadable += 1
                    unreadable(record.line, reason)
                case .row(let row):
                    if let environment = row.environment, !environments.contains(environment) {
                        count.otherEnvironments += 1
                    } else {
                        named.add(row)
                        rows.append(row)
                    }
                }
                guard rows.count >= ExportComparison.batch else { continue }
                try compare(rows, into: &count, found, on: connection)
                rows = []
                progress(count, 0.8 * file.share(reader.position.offset))
            }
            try compare(rows, into: &count, found, on: connection)
            guard try !file.isChanged() else {
                throw ImportFile.Failure(
                    description: "\(file.path) was changed while it was compared: run the command again")
            }
            try search(named, into: &count, progress, found, on: connection)
            return count
        }
    }

    // MARK: - Rows

    private func compare(
        _ rows: [ComparedRow], into count: inout ComparisonCount, _ found: ([ExportDifference]) throws -> Void,
        on connection: PostgresConnection
    ) throws {
        guard !rows.isEmpty else { return }
        let records = try records(of: rows, on: connection)
        var all: [ExportDifference] = []
        for (row, record) in zip(rows, records) {
            let differences = differences(row, record)
            if differences.isEmpty { count.same += 1 } else { count.differing += 1 }
            all += differences
        }
        try tell(all, into: &count, found)
    }

    private func tell(
        _ differences: [ExportDifference], into count: inout ComparisonCount,
        _ found: ([ExportDifference]) throws -> Void
    ) throws {
        guard !differences.isEmpty else { return }
        for difference in differences { count.differences[difference.cause, default: 0] += 1 }
        try found(differences)
    }

    /// By the original transaction id, and where that is not known here, by the transaction's own.
    private func records(of rows: [ComparedRow], on connection: PostgresConnection) throws -> [Record?] {
        func environments(_ row: ComparedRow) -> [StoreEnvironment] {
            row.environment.map { [$0] } ?? self.environments
        }
        let wanted = rows.flatMap { row in
            row.originalTransactionID.map { id in
                environments(row).map { PurchaseKey(app: app, environment: $0, originalTransactionID: id) }
            } ?? []
        }
        var known = try load(Set(wanted), on: connection)
        func named(_ row: ComparedRow, _ places: [String: [PurchaseKey]]) -> Record? {
            let own = row.originalTransactionID.map { id in
                environments(row).map { PurchaseKey(app: app, environment: $0, originalTransactionID: id) }
            }
            let others = [row.transactionID, row.originalTransactionID].compactMap { $0 }.flatMap { places[$0] ?? [] }
            return ((own ?? []) + others.filter { environments(row).contains($0.environment) }).lazy
                .compactMap { known[$0] }.first
        }
        let open = rows.filter { named($0, [:]) == nil }
        let identifiers = Set(open.flatMap { [$0.transactionID, $0.originalTransactionID].compactMap { $0 } })
        let places = try PurchaseQuery.keys(ofEach: identifiers, app: app, on: connection)
        known.merge(try load(Set(places.values.joined()).subtracting(known.keys), on: connection)) { one, _ in one }
        return rows.map { named($0, places) }
    }

    private func load(_ wanted: Set<PurchaseKey>, on connection: PostgresConnection) throws -> [PurchaseKey: Record] {
        let keys = Array(wanted)
        let owners = try PurchaseTable.owners(keys, on: connection)
        let customers = try CustomerTable.load(Set(owners.compactMap { $0 }), on: connection)
        let facts = try FactTable.load(keys, on: connection)
        var records: [PurchaseKey: Record] = [:]
        for (place, key) in keys.enumerated() {
            guard let owner = owners[place],
                let purchase = Purchase(folding: facts[place], key: key, foldSettings: foldSettings)
            else { continue }
            records[key] = Record(
                purchase: purchase, owner: owner, ownerIDs: customers[owner]?.appUserIDs ?? [owner])
        }
        return records
    }

    private func differences(_ row: ComparedRow, _ record: Record?) -> [ExportDifference] {
        func difference(
            _ cause: ComparisonCause, product: String?, there: String, here: String
        ) -> ExportDifference {
            ExportDifference(
                cause: cause, line: row.line, appUserID: row.ids.first,
                originalTransactionID: record?.purchase.key.originalTransactionID ?? row.originalTransactionID,
                transactionID: row.transactionID, productID: product, there: there, here: here)
        }
        guard let record else {
            return [difference(.missingHere, product: nil, there: "a transaction", here: "no such purchase")]
        }
        let purchase = record.purchase
        let period = row.transactionID.map { id in purchase.periods.first { $0.id == id } } ?? purchase.latest
        var found: [ExportDifference] = []
        if Set(row.ids).isDisjoint(with: record.ownerIDs) {
            found.append(
                difference(
                    .otherOwner, product: period?.productID, there: row.ids.joined(separator: ", "), here: record.owner)
            )
        }
        guard let period else {
            let here = "the purchase without this transaction"
            return found + [difference(.missingHere, product: nil, there: "a transaction", here: here)]
        }
        if let there = row.entitlements {
            let here = Set(catalogue.entitlements(of: period.transaction))
            if here != there {
                found.append(
                    difference(
                        .otherEntitlements, product: period.productID, there: ExportComparison.list(there),
                        here: ExportComparison.list(here)))
            }
        }
        // What ended is of no interest where a later transaction followed.
        if period.id == purchase.latest.id, let (there, here) = ends(row, period, purchase) {
            found.append(difference(.otherEnd, product: period.productID, there: there, here: here))
        }
        return found
    }

    /// Two ends that differ; nil where they agree, or the file says none.
    private func ends(_ row: ComparedRow, _ period: Period, _ purchase: Purchase) -> (there: String, here: String)? {
        let here = period.accessUntil.map { max($0, purchase.graceUntil ?? $0) }
        let there: Int64?
        switch row.end {
        case .unsaid: return nil
        case .never:
            // Exports have no end of what does not renew by itself; the configuration may give it one here.
            if !period.transaction.isRenewable, !period.wasCutShort { return nil }
            there = nil
        case .at(let instant): there = instant
        }
        switch (there, here) {
        case (nil, nil): return nil
        case (let there?, let here?) where abs(there - here) <= tolerance: return nil
        default: return (ExportComparison.date(there), ExportComparison.date(here))
        }
    }

    private static func date(_ instant: Int64?) -> String { instant.map { Timestamp.text($0) } ?? "never" }

    private static func list(_ names: Set<String>) -> String {
        names.isEmpty ? "none" : names.sorted().joined(separator: ", ")
    }

    // MARK: - What the file lacks

    private func search(
        _ named: Named, into count: inout ComparisonCount, _ progress: (ComparisonCount, Double) -> Void,
        _ found: ([ExportDifference]) throws -> Void, on connection: PostgresConnection
    ) throws {
        let newest = named.newest ?? file.modified
        for lane in Lane.all {
            for environment in environments {
                var stream = FactStream(lane: lane, app: app, environment: environment)
                while let page = try stream.next(on: connection) {
                    var missing: [Purchase] = []
                    for (key, facts) in page {
                        guard let purchase = Purchase(folding: facts, key: key, foldSettings: foldSettings),
                            !named.has(purchase)
                        else { continue }
                        if purchase.latest.transaction.purchaseDate > newest {
                            count.newerHere += 1
                        } else {
                            missing.append(purchase)
                        }
                    }
                    let owners = try PurchaseTable.owners(missing.map(\.key), on: connection)
                    try tell(
                        zip(missing, owners).map { ExportComparison.missing($0, $1) }, into: &count, found)
                }
            }
            progress(count, 0.8 + 0.2 * Double(lane.number + 1) / Double(Lane.count))
        }
    }

    private static func missing(_ purchase: Purchase, _ owner: String?) -> ExportDifference {
        ExportDifference(
            cause: .missingThere, line: nil, appUserID: owner,
            originalTransactionID: purchase.key.originalTransactionID, transactionID: purchase.latest.id,
            productID: purchase.latest.productID, there: "no row",
            here: "a transaction of \(date(purchase.latest.transaction.purchaseDate))")
    }
}
