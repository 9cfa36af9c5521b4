import Base
import Customers
import Subscriptions

/// A row of a file: a customer, and something that they bought. Pure.
package struct ImportRow: Sendable, Hashable {
    package enum Purchase: Sendable, Equatable, Hashable {
        case original(String)
        case transaction(String)
        /// A transaction as StoreKit 2 gives it, a compact JWS.
        case jws(String)
        /// An app receipt, in base64.
        case receipt(String)
    }

    package let appUserID: String
    package let aliases: [String]
    package let purchase: Purchase
    package let environment: StoreEnvironment?
    /// ms since 1970.
    package let firstSeen: Int64?
    /// `{key: {"value", "updated_at_ms"}}`; nil: there are none.
    package let attributes: JSON?

    package func hash(into hasher: inout Hasher) {
        hasher.combine(appUserID)
        hasher.combine(aliases)
        hasher.combine(purchase)
        hasher.combine(environment)
        hasher.combine(firstSeen)
        hasher.combine(attributes?.text)
    }

    /// What a record is.
    package enum Reading: Sendable, Equatable {
        case row(ImportRow)
        /// What was bought in another store, of which Apple knows nothing.
        case otherStore
        /// Why it cannot be imported, as a sentence.
        case flawed(String)
    }

    struct Flaw: Error {
        let reason: String
    }

    /// - Parameter asOf: of the file, in ms: what it says of attributes was so then.
    package static func read(_ record: CSVReader.Record, _ layout: ImportLayout, asOf: Int64) -> Reading {
        if let flaw = record.flaw { return .flawed("the row \(flaw)") }
        guard record.fields.count == layout.columns.count else {
            return .flawed(
                "the row has \(record.fields.count) fields, and the first row has \(layout.columns.count) columns")
        }
        do {
            switch layout.kind {
            case .own: return .row(try own(record, layout, asOf))
            case .revenueCat: return try revenueCat(record, layout, asOf)
            }
        } catch {
            return .flawed((error as? Flaw)?.reason ?? "\(error)")
        }
    }

    // MARK: - Layouts

    private static func own(_ record: CSVReader.Record, _ layout: ImportLayout, _ asOf: Int64) throws -> ImportRow {
        func text(_ name: String) -> String? { layout.text(name, of: record) }
        guard let id = text("app_user_id") else { throw Flaw(reason: "app_user_id is empty") }
        let purchase: Purchase
        if let original = text("original_transaction_id") {
            purchase = .original(try transactionID(original, "original_transaction_id"))
        } else if let one = text("transaction_id") {
            purchase = .transaction(try transactionID(one, "transaction_id"))
        } else if let jws = text("jws") {
            purchase = .jws(jws)
        } else if let receipt = text("receipt") {
            purchase = .receipt(receipt)
        } else {
            throw Flaw(reason: "the row has no purchase: \(ImportLayout.purchases.joined(separator: ", ")) are empty")
        }
        let attributes = layout.attributes(of: record).map { name, value in
            JSON.Member(name: name, value: attribute(.string(value), asOf))
        }
        return ImportRow(
            appUserID: try usable(id, "app_user_id"), aliases: try aliases(text("aliases"), of: id), purchase: purchase,
            environment: try text("environment").map(environment),
            firstSeen: try text("first_seen").map { try instant($0, "first_seen") },
            attributes: attributes.isEmpty ? nil : .object(attributes))
    }

    private static let applesStores: Set<String> = ["app_store", "mac_app_store"]

    private static func revenueCat(
        _ record: CSVReader.Record, _ layout: ImportLayout, _ asOf: Int64
    ) throws -> Reading {
        func text(_ column: RevenueCatColumn) -> String? { layout.text(column, of: record) }
        guard let store = text(.store) else { throw Flaw(reason: "store is empty") }
        guard applesStores.contains(store.lowercased()) else { return .otherStore }
        guard let original = text(.originalAppUserID) else {
            throw Flaw(reason: "rc_original_app_user_id is empty")
        }
        // Webhooks name the id that was seen last.
        let id = text(.lastSeenAppUserID) ?? original
        let purchase: Purchase
        if let id = text(.originalStoreTransactionID) {
            purchase = .original(try transactionID(id, RevenueCatColumn.originalStoreTransactionID.rawValue))
        } else if let id = text(.storeTransactionID) {
            purchase = .transaction(try transactionID(id, RevenueCatColumn.storeTransactionID.rawValue))
        } else {
            throw Flaw(reason: "original_store_transaction_id and store_transaction_id are empty")
        }
        var attributes: [JSON.Member] = []
        for column in [RevenueCatColumn.reservedAttributes, .customAttributes] {
            attributes += try text(column).map { try members($0, column.rawValue, asOf) } ?? []
        }
        // Earlier versions of the export call it so.
        let seen = text(.firstSeenTime) ?? layout.text("first_seen", of: record)
        return .row(
            ImportRow(
                appUserID: try usable(id, RevenueCatColumn.lastSeenAppUserID.rawValue),
                aliases: id == original
                    ? [] : [try usable(original, RevenueCatColumn.originalAppUserID.rawValue)], purchase: purchase,
                environment: try text(.isSandbox).map { try flag($0) ? .sandbox : .production },
                firstSeen: try seen.map { try instant($0, RevenueCatColumn.firstSeenTime.rawValue) },
                attributes: attributes.isEmpty ? nil : .object(attributes)))
    }

    // MARK: - Fields

    private static func usable(_ id: String, _ column: String) throws -> String {
        // A spreadsheet would have computed it, or would compute it where the id is shown.
        if id.hasPrefix("=") || id.hasPrefix("@") {
            throw Flaw(reason: "\(column): \(shown(id)) is a formula of a spreadsheet")
        }
        if let why = AppUserID.objection(toNew: id) {
            throw Flaw(reason: "\(column): \(shown(id)) cannot name a customer: it \(why)")
        }
        return id
    }

    private static func transactionID(_ text: String, _ column: String) throws -> String {
        let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if isNumber, text.utf8.count <= 64 { return text }
        if text.contains(/^[0-9]+[.,]?[0-9]*[eE]\+?[0-9]+$/) {
            throw Flaw(
                reason: "\(column): \(shown(text)) was rounded by a spreadsheet: export the file again, and let no"
                    + " spreadsheet save it")
        }
        throw Flaw(reason: "\(column): \(shown(text)) is not a transaction id of Apple")
    }

    /// A JSON array, or ids with commas between them.
    private static func aliases(_ text: String?, of id: String) throws -> [String] {
        guard let text else { return [] }
        let ids: [String]
        if text.hasPrefix("[") {
            guard let array = (try? JSON(parsing: Array(text.utf8)))?.arrayValue else {
                throw Flaw(reason: "aliases: \(shown(text)) is not a JSON array of strings")
            }
            ids = try array.map { item in
                guard let id = item.stringValue else {
                    throw Flaw(reason: "aliases: \(shown(text)) is not a JSON array of strings")
                }
                return id
            }
        } else {
            ids = text.split(separator: ",").map { String($0).trimmed }.filter { !$0.isEmpty }
        }
        var known: Set<String> = [id]
        return try ids.filter { known.insert($0).inserted }.map { try usable($0, "aliases") }
    }

    private static func environment(_ text: String) throws -> StoreEnvironment {
        switch text.lowercased() {
        case "production": return .production
        case "sandbox": return .sandbox
        default: throw Flaw(reason: "environment: \(shown(text)) is neither Production nor Sandbox")
        }
    }

    private static func flag(_ text: String) throws -> Bool {
        switch text.lowercased() {
        case "true", "t", "1", "yes": return true
        case "false", "f", "0", "no": return false
        default: throw Flaw(reason: "is_sandbox: \(shown(text)) is neither true nor false")
        }
    }

    /// ISO 8601, with a space in place of the T and without a zone (UTC) too, or seconds or milliseconds since 1970.
    static func instant(_ text: String, _ column: String) throws -> Int64 {
        if let number = Int64(text), number >= 0 {
            return number < 100_000_000_000 ? number * 1000 : number
        }
        var iso = text.replacing(" UTC", with: "Z").replacing(" ", with: "T")
        if !iso.contains("T") { iso += "T00:00:00" }
        let zone = iso.lastIndex { $0 == "Z" || $0 == "+" || $0 == "-" }
        if zone.map({ $0 < (iso.firstIndex(of: "T") ?? iso.startIndex) }) ?? true { iso += "Z" }
        // Postgres prints whole hours of a zone alone.
        if iso.contains(/T.*[+-]\d\d$/) { iso += ":00" }
        guard let instant = Timestamp.parse(iso), instant >= 0 else {
            throw Flaw(reason: "\(column): \(shown(text)) is not a time in ISO 8601")
        }
        return instant
    }

    /// A JSON object of values, or of `{"value", "updated_at_ms"}`. Exports before version 6 can have it as a JSON string.
    private static func members(_ text: String, _ column: String, _ asOf: Int64) throws -> [JSON.Member] {
        func json(_ text: String) -> JSON? { try? JSON(parsing: Array(text.utf8)) }
        let parsed = json(text)
        guard let members = (parsed?.stringValue.flatMap(json) ?? parsed)?.members else {
            throw Flaw(reason: "\(column): \(shown(text)) is not a JSON object")
        }
        return members.map { member in
            guard member.value.members != nil else {
                return JSON.Member(name: member.name, value: attribute(member.value, asOf))
            }
            return JSON.Member(
                name: member.name,
                value: .object([
                    "value": member.value["value"] ?? .null,
                    "updated_at_ms": .int(member.value["updated_at_ms"]?.intValue ?? asOf),
                ]))
        }
    }

    private static func attribute(_ value: JSON, _ asOf: Int64) -> JSON {
        .object(["value": value, "updated_at_ms": .int(asOf)])
    }

    private static func shown(_ text: String) -> String {
        let safe = String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }))
        return "'\(safe.prefix(60))\(safe.count > 60 ? "…" : "")'"
    }
}
