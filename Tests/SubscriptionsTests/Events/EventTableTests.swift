import FoundationEssentials
import Subscriptions
import Testing

/// The table as a document.
struct EventTableTests {
    @Test func `the rows are numbered from 1 to 49 and named once each`() {
        #expect(Set(EventTable.rows.map(\.number)) == Set(1...49))
        #expect(EventTable.rows.map(\.number) == EventTable.rows.map(\.number).sorted())
        #expect(Set(EventTable.rows.map(\.name)).count == EventTable.rows.count)
    }

    @Test func `what is inferred has a reason, and is a sentence`() {
        for row in EventTable.rows {
            #expect(row.certainty == .certain || !row.decision.isEmpty, "\(row.name)")
            #expect(row.decision.isEmpty || row.decision.hasSuffix("."), "\(row.name)")
        }
    }

    @Test func `README has the rules of money`() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: package.appending(path: "README.md"), encoding: .utf8)
        #expect(text.contains(EventTable.moneyRules), "copy them from schemas/events/README.md")
    }

    /// The file is written from the table when `UPDATE_GENERATED` is set.
    @Test func `the README of the schemas follows the table`() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = package.appending(path: "schemas/events/README.md")
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data(EventTable.document.utf8).write(to: file)
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text == EventTable.document,
            "write it again with UPDATE_GENERATED=1 swift test --filter EventTableTests, and read what changed")
    }
}
