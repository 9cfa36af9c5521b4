import Base

/// The states of an endpoint that a journal has, the oldest first: the last one is how the endpoint should be.
package struct EndpointHistory: Sendable {
    package var entries: [JournalEntry]

    package init(_ entry: JournalEntry) {
        entries = [entry]
    }

    package var last: JournalEntry { entries[entries.count - 1] }
    package var id: String { last.row["id"]?.stringValue ?? "" }
    package var isRemoved: Bool { (last.row["removed_ms"] ?? .null) != .null }

    /// What there is to do in a database.
    package enum Step: Sendable, Equatable {
        case apply
        /// The endpoint is so already.
        case nothing
        /// It was changed or removed in the database since.
        case refuse
    }

    /// - Parameter row: how the database has it; nil: it has none.
    package func step(from row: JSON?) -> Step {
        guard let row else { return .apply }
        if EndpointHistory.agrees(row, with: last) { return .nothing }
        let isLater = row["revision"]?.intValue ?? 0 < last.row["revision"]?.intValue ?? 0
        guard isLater, (row["removed_ms"] ?? .null) == .null || isRemoved else { return .refuse }
        // A state that the journal does not have was made after the database was restored, or before the journal was begun.
        let isOlder = row["revision"]?.intValue ?? 0 < entries[0].row["revision"]?.intValue ?? 0
        return isOlder || entries.contains { EndpointHistory.agrees(row, with: $0) } ? .apply : .refuse
    }

    /// Whether a row is as an entry says; the program that wrote the entry may have known fewer columns.
    private static func agrees(_ row: JSON, with entry: JournalEntry) -> Bool {
        (entry.row.members ?? []).allSatisfy { $0.name == "revision" || row[$0.name] == $0.value }
    }
}
