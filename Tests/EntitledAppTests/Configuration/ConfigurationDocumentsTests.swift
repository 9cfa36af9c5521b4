import Base
import CLI
import Daemon
import EntitledApp
import FoundationEssentials
import Testing

/// The example file, the JSON Schema and the help say what the declarations of the keys say.
struct ConfigurationDocumentsTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func read(_ path: String) throws -> String {
        try String(contentsOf: package.appending(path: path), encoding: .utf8)
    }

    private static let example = "deploy/entitled.example.json5"
    private static let schema = "schemas/config.schema.json"

    /// What is commented out as an example, with everything else: `//key: value` without a space.
    private static func everything(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let body = line.drop { $0 == " " }
            let isExample = body.hasPrefix("//") && body.dropFirst(2).first.map { $0 != " " && $0 != "/" } == true
            return isExample ? String(body.dropFirst(2)) : String(line)
        }.joined(separator: "\n")
    }

    /// Paths of the table to the values in a document.
    private static func leaves(_ json: JSON, _ path: String = "") -> [String: JSON] {
        if ConfigurationKeys.all.contains(where: { $0.path == path }) { return [path: json] }
        if let members = json.members {
            return members.reduce(into: [:]) { leaves, member in
                let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
                leaves.merge(Self.leaves(member.value, inner)) { first, _ in first }
            }
        }
        return (json.arrayValue ?? []).reduce(into: [:]) { leaves, element in
            leaves.merge(Self.leaves(element, "\(path)[]")) { first, _ in first }
        }
    }

    @Test func `the example file has every default, and nothing else`() throws {
        let text = try Self.read(Self.example)
        let leaves = Self.leaves(try JSON(parsing: Array(text.utf8), json5: true))
        for (path, value) in leaves {
            let entry = try #require(ConfigurationKeys.all.first { $0.path == path })
            #expect(entry.fallback == value, "\(path)")
        }
        // A section that may be left out stands there as a comment.
        let settable = ConfigurationKeys.all.filter { key in
            !key.path.contains("[]") && key.fallback != .null && !key.path.hasPrefix("console.proxy.")
        }.map(\.path)
        #expect(Set(leaves.keys) == Set(settable))
        #expect(try ConfigurationFixture().keys(text).isEmpty)
    }

    @Test func `the example file shows every key, and its examples are right`() throws {
        let text = Self.everything(try Self.read(Self.example))
        let leaves = Self.leaves(try JSON(parsing: Array(text.utf8), json5: true))
        #expect(Set(leaves.keys) == Set(ConfigurationKeys.all.map(\.path)))
        var bench = ConfigurationFixture()
        bench.files["/etc/entitled/keys/AuthKey_2X9R4HXF34.p8"] = .denied
        bench.files["/etc/entitled/keys/AuthKey_7B3M2KX9QA.p8"] = .denied
        for name in ["fullchain.pem", "privkey.pem"] {
            bench.files["/etc/letsencrypt/live/notifications.example.com/\(name)"] = .denied
        }
        #expect(try bench.mistakes(text).isEmpty)
    }

    /// The file is written when `UPDATE_GENERATED` is set.
    @Test func `the example file follows the declarations`() throws {
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data(ConfigurationExample.text.utf8).write(to: Self.package.appending(path: Self.example))
        }
        #expect(try Self.read(Self.example) == ConfigurationExample.text)
    }

    @Test func `every key has a comment and a default that it allows`() throws {
        #expect(ConfigurationKeys.all.count > 30)
        #expect(Set(ConfigurationKeys.all.map(\.path)).count == ConfigurationKeys.all.count)
        for entry in ConfigurationKeys.all {
            #expect(entry.comment.hasSuffix("."), "\(entry.path)")
            #expect(!entry.allowed.isEmpty)
        }
        let names = ConfigurationKeys.all.compactMap(\.variable)
        #expect(Set(names).count == names.count)
    }

    /// The schema is written from the table when `UPDATE_GENERATED` is set.
    @Test func `the JSON Schema follows the table`() throws {
        let wanted = ConfigurationSchema.document
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data((wanted.indentedText + "\n").utf8).write(to: Self.package.appending(path: Self.schema))
        }
        #expect(try Self.read(Self.schema) == wanted.indentedText + "\n")
    }

    @Test func `the help of check-config has every key`() {
        let help = ProgramFixture().run(["check-config", "--help"])
        #expect(help.status == 0)
        for entry in ConfigurationKeys.all {
            #expect(help.output.contains("  \(entry.path)"), "\(entry.path)")
        }
    }
}
