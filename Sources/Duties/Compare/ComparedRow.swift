import Base
import Customers
import Subscriptions

/// A row of a file as it is compared: a customer, a transaction, and when the other system ends its access. Pure.
struct ComparedRow: Sendable {
    /// When access ends, as the other system says.
    enum End: Sendable, Equatable {
        /// The file does not say.
        case unsaid
        case never
        /// ms since 1970.
        case at(Int64)
    }

    enum Reading: Sendable {
        case row(ComparedRow)
        case otherStore
        /// As a sentence.
        case flawed(String)
    }

    let line: Int64
    let ids: [String]
    let environment: StoreEnvironment?
    /// Nil: the row is about the purchase as a whole.
    let transactionID: String?
    /// Nil: the row names the transaction alone.
    let originalTransactionID: String?
    /// ms since 1970.
    let start: Int64?
    let end: End
    /// Nil: the file does not say.
    let entitlements: Set<String>?

    /// - Parameter asOf: of the file, in ms.
    static func read(_ record: CSVReader.Record, _ layout: ImportLayout, asOf: Int64) -> Reading {
        switch ImportRow.read(record, layout, asOf: asOf) {
        case .otherStore: return .otherStore
        case .flawed(let reason): return .flawed(reason)
        case .row(let row):
            do {
                return .row(try ComparedRow(row, record, layout))
            } catch {
                return .flawed((error as? ImportRow.Flaw)?.reason ?? "\(error)")
            }
        }
    }

    private init(_ row: ImportRow, _ record: CSVReader.Record, _ layout: ImportLayout) throws {
        func instant(_ column: RevenueCatColumn) throws -> Int64? {
            try layout.text(column, of: record).map { try ImportRow.instant($0, column.rawValue) }
        }
        line = record.line
        ids = [row.appUserID] + row.aliases
        environment = row.environment
        switch row.purchase {
        case .original(let id):
            originalTransactionID = id
            transactionID = layout.kind == .revenueCat ? layout.text(.storeTransactionID, of: record) : nil
        case .transaction(let id): (originalTransactionID, transactionID) = (nil, id)
        case .jws, .receipt:
            throw ImportRow.Flaw(reason: "the row has no transaction id, so it cannot be compared")
        }
        guard layout.kind == .revenueCat else {
            (start, end, entitlements) = (nil, .unsaid, nil)
            return
        }
        start = try instant(.startTime)
        let refunded = try instant(.refundedAt)
        if layout.has(.effectiveEndTime) {
            end = (try instant(.effectiveEndTime) ?? refunded).map(End.at) ?? .never
        } else if layout.has(.endTime) {
            let planned = try instant(.gracePeriodEndTime) ?? instant(.endTime)
            end = [planned, refunded].compactMap { $0 }.min().map(End.at) ?? .never
        } else {
            end = .unsaid
        }
        entitlements =
            layout.has(.entitlements)
            ? ComparedRow.names(layout.text(.entitlements, of: record) ?? "") : nil
    }

    /// A JSON array, or an array as Postgres writes it; exports of several versions differ in it.
    private static func names(_ text: String) -> Set<String> {
        if let array = (try? JSON(parsing: Array(text.utf8)))?.arrayValue {
            return Set(array.compactMap(\.stringValue))
        }
        let marks: Set<Character> = ["[", "]", "{", "}", "\"", "'"]
        return Set(
            text.split(separator: ",").map { part in String(part.filter { !marks.contains($0) }).trimmed }
                .filter { !$0.isEmpty && $0.lowercased() != "null" })
    }
}
