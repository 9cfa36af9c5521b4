import FoundationEssentials
import Subscriptions
import Testing

/// The table as a document.
struct EventTypeTableTests {
    @Test func `the rows are numbered from 1 to 49 and named once each`() {
        #expect(Set(EventTypeTable.rows.map(\.number)) == Set(1...49))
        #expect(EventTypeTable.rows.map(\.number) == EventTypeTable.rows.map(\.number).sorted())
        #expect(Set(EventTypeTable.rows.map(\.name)).count == EventTypeTable.rows.count)
    }

    @Test func `what is inferred has a reason, and is a sentence`() {
        for row in EventTypeTable.rows {
            #expect(row.certainty == .certain || !row.decision.isEmpty, "\(row.name)")
            #expect(row.decision.isEmpty || row.decision.hasSuffix("."), "\(row.name)")
        }
    }

    /// The section is written from the rules when `UPDATE_GENERATED` is set.
    @Test func `the page of webhooks ends with the rules of money`() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = package.appending(path: "Sources/EntitledApp/EntitledApp.docc/Webhooks.md")
        let heading = "\n## Money\n\n"
        let section = heading + EventTypeTable.moneyRules + "\n"
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let introduction = try #require(text.firstRange(of: heading)).lowerBound
            try Data((text[..<introduction] + section).utf8).write(to: file)
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text.hasSuffix(section),
            "write it again with UPDATE_GENERATED=1 swift test --filter EventTypeTableTests, and read what changed")
    }

    /// The file is written from the table when `UPDATE_GENERATED` is set.
    @Test func `the README of the schemas follows the table`() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = package.appending(path: "schemas/events/README.md")
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data(EventTypeTable.document.utf8).write(to: file)
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text == EventTypeTable.document,
            "write it again with UPDATE_GENERATED=1 swift test --filter EventTypeTableTests, and read what changed")
    }
}
