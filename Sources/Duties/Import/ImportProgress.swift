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
    /// Length of the file of refused rows.
    var refusedBytes: Int64 = 0

    package init() {}

    private static let form = "1"

    /// As the cursor of a job.
    package var words: [String] {
        [ImportProgress.form]
            + [
                position.offset, position.line, rows, imported, unknown, refused, already, otherStores, refusedBytes,
            ].map { String($0) }
    }

    /// Nil for words that are no such thing.
    package init?(words: [String]) {
        if words.isEmpty { return }
        let numbers = words.dropFirst().compactMap { Int64($0) }
        guard words.first == ImportProgress.form, numbers.count == 9, words.count == 10 else { return nil }
        position = CSVReader.Position(offset: numbers[0], line: numbers[1])
        (rows, imported, unknown) = (numbers[2], numbers[3], numbers[4])
        (refused, already, otherStores, refusedBytes) = (numbers[5], numbers[6], numbers[7], numbers[8])
    }

    package var json: [JSON.Member] {
        JSON.object([
            "rows": .int(rows), "imported": .int(imported), "unknown": .int(unknown), "refused": .int(refused),
            "already": .int(already), "other_stores": .int(otherStores),
        ]).members ?? []
    }
}
