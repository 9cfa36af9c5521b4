import Base
import Customers

/// What the columns of a file mean: ours, or those of RevenueCat's scheduled export. Found in its first row. Pure.
package struct ImportLayout: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case own = "entitled"
        /// Scheduled data exports: a row for each transaction of each store.
        case revenueCat = "revenuecat"
    }

    package let kind: Kind
    package let delimiter: UInt8
    /// As the file names them.
    package let columns: [String]
    private let places: [String: Int]

    /// Why a file cannot be imported.
    package struct Flaw: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    static let purchases = ["original_transaction_id", "transaction_id", "jws", "receipt"]
    private static let own: Set<String> = Set(purchases + ["app_user_id", "aliases", "environment", "first_seen"])
    static let attributePrefix = "attributes."

    private static let delimiters: [UInt8] = [0x2c, 0x3b, 0x09, 0x7c]

    /// - Parameter beginning: of the file; the whole of its first row at least.
    package init(beginning: [UInt8]) throws(Flaw) {
        if let encoding = ImportLayout.foreignEncoding(beginning) {
            throw Flaw("the file is \(encoding)")
        }
        var best: (layout: ImportLayout, known: Int)?
        var first: (any Error)?
        for delimiter in ImportLayout.delimiters {
            var rest: [UInt8]? = beginning
            var reader = CSVReader(delimiter: delimiter) { _ in
                defer { rest = nil }
                return rest ?? []
            }
            do throws(CSVReader.Failure) {
                guard let record = try reader.next() else { throw .unreadable("it is empty") }
                if let flaw = record.flaw { throw .unreadable("the first row \(flaw)") }
                let layout = ImportLayout(record.fields, delimiter)
                let known = record.fields.filter { layout.isKnown($0) }.count
                // Of two that make as much sense, the one that divides the row: a row undivided is one column.
                let former = (best?.known ?? 0, best?.layout.columns.count ?? .max)
                if (known, layout.columns.count) > former { best = (layout, known) }
            } catch {
                first = first ?? error
            }
        }
        guard let best else {
            if let first { throw Flaw("\(first)") }
            throw Flaw(
                "its first row has no known column: it needs app_user_id and one of"
                    + " \(ImportLayout.purchases.joined(separator: ", ")), or the columns of RevenueCat's scheduled export"
            )
        }
        self = best.layout
        try check()
    }

    private init(_ columns: [String], _ delimiter: UInt8) {
        self.columns = columns
        self.delimiter = delimiter
        let names = columns.map(ImportLayout.name)
        places = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
        kind = names.contains { $0.hasPrefix("rc_") } ? .revenueCat : .own
    }

    private static func name(_ column: String) -> String {
        let trimmed = column.trimmed
        return trimmed.lowercased().hasPrefix(attributePrefix)
            ? attributePrefix + trimmed.dropFirst(attributePrefix.count) : trimmed.lowercased()
    }

    private func isKnown(_ column: String) -> Bool {
        let name = ImportLayout.name(column)
        return name.hasPrefix("rc_") || ImportLayout.own.contains(name) || name.hasPrefix(ImportLayout.attributePrefix)
    }

    private func check() throws(Flaw) {
        let names = columns.map(ImportLayout.name)
        if let twice = names.first(where: { name in names.filter { $0 == name }.count > 1 }), !twice.isEmpty {
            throw Flaw("the column \(twice) occurs twice")
        }
        switch kind {
        case .revenueCat:
            for column in [RevenueCatColumn.originalAppUserID, .store] where !has(column) {
                throw Flaw("it looks like RevenueCat's scheduled export, but the column \(column.rawValue) is missing")
            }
            guard has(.originalStoreTransactionID) || has(.storeTransactionID) else {
                throw Flaw(
                    "it looks like RevenueCat's scheduled export, but neither the column"
                        + " \(RevenueCatColumn.originalStoreTransactionID.rawValue) nor"
                        + " \(RevenueCatColumn.storeTransactionID.rawValue) is there")
            }
        case .own:
            // A column that is passed over silently is one with a spelling mistake.
            if let unknown = columns.first(where: { !isKnown($0) }) {
                let known = ImportLayout.own.sorted().joined(separator: ", ")
                throw Flaw("the column '\(unknown)' is not known; known are \(known), attributes.NAME")
            }
            if places["app_user_id"] == nil { throw Flaw("the column app_user_id is missing") }
            if !ImportLayout.purchases.contains(where: { places[$0] != nil }) {
                throw Flaw("it has none of the columns \(ImportLayout.purchases.joined(separator: ", "))")
            }
        }
    }

    /// The encoding of a file that is not in UTF-8, as far as its beginning tells, and what to do about it.
    private static func foreignEncoding(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            return "in UTF-16: save it as UTF-8"
        }
        if bytes.starts(with: GzipReader.mark) { return "packed by gzip twice: unpack it once" }
        if bytes.starts(with: [0x50, 0x4b, 0x03, 0x04]) {
            return "a workbook or a ZIP archive: export it as CSV in UTF-8"
        }
        return bytes.prefix(1024).contains(0) ? "not text, or in UTF-16: save it as UTF-8" : nil
    }

    // MARK: - Rows

    /// Whether a file of RevenueCat's has the column.
    func has(_ column: RevenueCatColumn) -> Bool { places[column.rawValue] != nil }

    /// The text of a column of RevenueCat's, as `text(_:of:)` gives it by name.
    func text(_ column: RevenueCatColumn, of record: CSVReader.Record) -> String? {
        text(column.rawValue, of: record)
    }

    /// The text of a column without white space around it; nil where it is empty, or there is no such column.
    func text(_ name: String, of record: CSVReader.Record) -> String? {
        guard let place = places[name], record.fields.indices.contains(place) else { return nil }
        let text = record.fields[place].trimmed
        return text.isEmpty ? nil : text
    }

    /// Names and values of `attributes.NAME`.
    func attributes(of record: CSVReader.Record) -> [(name: String, value: String)] {
        columns.compactMap { column in
            let name = ImportLayout.name(column)
            guard name.hasPrefix(ImportLayout.attributePrefix), let value = text(name, of: record) else { return nil }
            return (String(name.dropFirst(ImportLayout.attributePrefix.count)), value)
        }
    }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        var view = self[...]
        while let first = view.unicodeScalars.first, first.properties.isWhitespace { view.unicodeScalars.removeFirst() }
        while let last = view.unicodeScalars.last, last.properties.isWhitespace { view.unicodeScalars.removeLast() }
        return String(view)
    }
}
