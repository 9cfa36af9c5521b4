import Daemon
import EntitledApp
import FoundationEssentials
import Testing

/// The manual's page of configuration keys.
struct ConfigurationPageTests {
    @Test func `the page names keys that exist, once each`() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = package.appending(path: "Sources/EntitledApp/EntitledApp.docc/Configuration.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let named = rows.flatMap { row in
            row.dropFirst(2).prefix { $0 != "|" }.matches(of: /`([^`]+)`/).map { String($0.output.1) }
        }
        #expect(rows.count > 30)
        #expect(named.count == Set(named).count)
        let keys = Set(ConfigurationKeys.all.map(\.path))
        for name in named { #expect(keys.contains(name), "\(name)") }
    }
}
