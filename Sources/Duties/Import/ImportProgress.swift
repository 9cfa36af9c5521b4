import Base

/// How far an import is, and what came of its rows.
package struct ImportProgress: Sendable, Equatable {
    /// Behind the last row that is done.
    package var position = CSVReader.Position()
    package var rows: Int64 = 0
    package var imported: Int64 = 0
    /// Apple does not know what they name.
    package var unknown: Int64 = 0
    package var refused: Int64 = 0
    /// The customer had it by an import before.
    package var already: Int64 = 0
    package var otherStores: Int64 = 0
    /// What is in the file of refused rows.
    var refusedMark = RefusedRowsFile.Mark()

    package init() {}

    /// The first of the words. The older form has no hash of the refused rows.
    private static let (olderForm, form) = ("1", "2")

    /// As the cursor of a job.
    package var words: [String] {
        let numbers = [
            position.offset, position.line, rows, imported, unknown, refused, already, otherStores, refusedMark.bytes,
        ].map { String($0) }
        guard refusedMark.bytes > 0, let hash = refusedMark.hash else { return [ImportProgress.olderForm] + numbers }
        return [ImportProgress.form] + numbers + [String(hash)]
    }

    /// Nil for words that are no such thing.
    package init?(words: [String]) {
        if words.isEmpty { return }
        let numbers = words.dropFirst().prefix(9).compactMap { Int64($0) }
        guard numbers.count == 9 else { return nil }
        var hash: UInt64?
        switch (words[0], words.count) {
        case (ImportProgress.olderForm, 10): break
        case (ImportProgress.form, 11):
            hash = UInt64(words[10])
            guard hash != nil else { return nil }
        default: return nil
        }
        position = CSVReader.Position(offset: numbers[0], line: numbers[1])
        (rows, imported, unknown) = (numbers[2], numbers[3], numbers[4])
        (refused, already, otherStores) = (numbers[5], numbers[6], numbers[7])
        if numbers[8] > 0 { refusedMark = RefusedRowsFile.Mark(bytes: numbers[8], hash: hash) }
    }

    package var json: [JSON.Member] {
        JSON.object([
            "rows": .int(rows), "imported": .int(imported), "unknown": .int(unknown), "refused": .int(refused),
            "already": .int(already), "other_stores": .int(otherStores),
        ]).members ?? []
    }
}
