import FoundationEssentials
import Postgres
import Schemas
import TestSupport
import Testing

/// `Analysts.md` describes every view and column by their comments in the database.
struct AnalystsPageTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/EntitledApp/EntitledApp.docc/Analysts.md")
    private static let heading = "\n## Views\n"
    /// In the order in which they are read.
    private static let views = [
        "customers", "subscriptions", "transactions", "events", "entitlements_now", "freshness",
    ]

    private static let select = """
        SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum),
            obj_description(a.attrelid, 'pg_class')
        FROM pg_attribute a WHERE a.attrelid = ('entitled_reports.' || quote_ident($1))::regclass AND a.attnum > 0
        ORDER BY a.attnum
        """

    private func section(_ view: String, on connection: PostgresConnection) throws -> String {
        let rows = try connection.query(Self.select, [.text(view)])
        let meaning = try #require(try rows.first?.text(3))
        let table = try rows.map { row in
            let type = try row.text(1).replacing("timestamp with time zone", with: "timestamptz")
            return "| `\(try row.text(0))` | \(type) | \(try row.text(2)) |"
        }
        return "\n### \(view)\n\n\(meaning)\n\n| column | type | meaning |\n|---|---|---|\n"
            + table.joined(separator: "\n") + "\n"
    }

    /// The sections are written from the database when `UPDATE_GENERATED` is set.
    @Test func `the page of analysts ends with every view and column`() throws {
        #expect(Self.views.sorted() == AnalystRole.views)
        let connection = try TestCluster.shared.makeMigratedDatabase().connect()
        let sections = Self.heading + (try Self.views.map { try section($0, on: connection) }).joined()
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            let text = try String(contentsOf: Self.file, encoding: .utf8)
            let introduction = try #require(text.firstRange(of: Self.heading)).lowerBound
            try Data((text[..<introduction] + sections).utf8).write(to: Self.file)
        }
        #expect(
            try String(contentsOf: Self.file, encoding: .utf8).hasSuffix(sections),
            "write it again with UPDATE_GENERATED=1 swift test --filter AnalystsPageTests, and read what changed")
    }
}
