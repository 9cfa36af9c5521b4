import Base
import Daemon
import FoundationEssentials
import TestSupport
import Testing

/// The alarms: their rules as Prometheus reads them, and their sections in the runbook.
@Suite struct AlarmTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let rulesFile = package.appending(path: "deploy/prometheus/entitled.rules.yml")

    /// The rules are written from the table when `UPDATE_GENERATED` is set.
    @Test func `the rules file is that of the table`() throws {
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data(Alarm.rules.utf8).write(to: Self.rulesFile)
        }
        #expect(
            try String(contentsOf: Self.rulesFile, encoding: .utf8) == Alarm.rules,
            "write it again with UPDATE_GENERATED=1 swift test --filter AlarmTests, and read what changed")
    }

    @Test func `names are their own, and a condition reads the metrics that it names and no others`() {
        #expect(Set(Alarm.all.map(\.name)).count == Alarm.all.count)
        for alarm in Alarm.all {
            #expect(alarm.name.hasPrefix("Entitled"))
            #expect(alarm.summary.hasSuffix("."), "\(alarm.name)")
            let read = Set(
                alarm.condition.matches(of: /entitled_[a-z_]+/).map {
                    String($0.output).replacing(/_bucket$/, with: "")
                })
            #expect(read == Set(alarm.metrics.map(\.name)), "\(alarm.name)")
            for label in alarm.summary.matches(of: /\$labels\.([a-z_]+)/).map(\.output.1) where label != "instance" {
                #expect(alarm.condition.contains(label) || alarm.metrics.contains { $0.labels.contains(String(label)) })
            }
        }
    }

    @Test func `the runbook has a section for each alarm, in the order of the table`() throws {
        let page = try String(
            contentsOf: Self.package.appending(path: "Sources/EntitledApp/EntitledApp.docc/Runbook.md"), encoding: .utf8
        )
        let sections = page.split(separator: "\n### ").dropFirst()
        #expect(sections.map { String($0.prefix { !$0.isNewline }) } == Alarm.all.map(\.name))
        for section in sections {
            #expect(
                section.contains("- **Meaning**: ") && section.contains("**Look**") && section.contains("**Do**")
                    && section.contains("**Over**"), "\(section.prefix(40))")
        }
        #expect(Alarm.all.allSatisfy { $0.runbook == "Runbook.md#\($0.name.lowercased())" })
    }

    @Test(.enabled(if: Promtool.path != nil, "skipped: no promtool; run deploy/promtool"))
    func `Prometheus reads the rules`() throws {
        let output = try Promtool.run(["check", "rules", Self.rulesFile.path])
        #expect(output.contains("SUCCESS: \(Alarm.all.count) rules found"))
    }

    /// Each alarm with series in which it fires, and with others in which it does not; as promtool writes series.
    @Test(.enabled(if: Promtool.path != nil, "skipped: no promtool; run deploy/promtool"))
    func `each alarm fires when it should, and is silent otherwise`() throws {
        #expect(AlarmCase.all.map(\.alarm) == Alarm.all.map(\.name))
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        // A file of rules for each alarm: promtool evaluates all rules of a file at each minute of each test.
        let mark = "      - alert: "
        let parts = try String(contentsOf: Self.rulesFile, encoding: .utf8).components(separatedBy: mark)
        let files = try zip(AlarmCase.all, parts.dropFirst()).map { test, rule in
            let (rules, file) = ("\(folder)/\(test.alarm).rules.yml", "\(folder)/\(test.alarm).yml")
            try (parts[0] + mark + rule).write(toFile: rules, atomically: true, encoding: .utf8)
            // JSON is YAML.
            let cases = JSON.object([
                "rule_files": .strings([rules]), "evaluation_interval": .string("\(test.step)m"),
                "tests": .array(test.tests),
            ])
            try cases.text.write(toFile: file, atomically: true, encoding: .utf8)
            return file
        }
        #expect(files.count == Alarm.all.count)
        let output = try Promtool.run(["test", "rules"] + files)
        #expect(output.contains("SUCCESS"))
    }
}

/// Prometheus' own checker of rules.
enum Promtool {
    static let path: String? = {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return (["\(root)/.build/promtool"] + folders.map { "\($0)/promtool" })
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static func run(_ arguments: [String]) throws -> String {
        try TestCommand.run([path ?? "promtool"] + arguments, within: .seconds(60))
    }
}
