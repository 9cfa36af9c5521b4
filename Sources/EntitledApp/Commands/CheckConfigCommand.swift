import Base
import CLI
import Daemon

/// `entitled check-config`: every mistake at once, or what is in force.
struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "check-config", "Check the configuration, or show the values in force.", discussion: discussion,
        topics: [.init("Keys", keys)],
        examples: ["check-config", "check-config --set", "check-config --config ./entitled.json5 --json"])

    @Flag("--quiet", "Print mistakes and warnings only.") private var isQuiet: Bool
    @Flag("--set", "Print only the keys that are set, by the file or by variables.") private var isSetOnly: Bool

    func validate() throws {
        if isQuiet, isSetOnly { throw UsageError("--quiet and --set cannot be combined") }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        do {
            let (document, path) = try ConfigurationFile.document(context.configurationFile, context.surroundings)
            let configuration = try Configuration.parse(document, context.surroundings)
            show(configuration, path, context)
            for warning in CheckConfigCommand.warnings(configuration) {
                context.terminal.complain("warning: \(warning)")
            }
            return 0
        } catch {
            guard context.json else { throw error }
            context.terminal.document(
                .object(["ok": .bool(false), "mistakes": .array(error.all.map(\.document))]))
            return ExitStatus.wrongUsage
        }
    }

    private func show(_ configuration: Configuration, _ path: String?, _ context: CommandContext) {
        guard !context.json else {
            let settings = configuration.settings.map { setting in
                JSON.object([
                    "key": .string(setting.key), "value": setting.value, "origin": .string(setting.origin.text),
                ])
            }
            context.terminal.document(
                .object(["ok": .bool(true), "file": .text(path), "settings": .array(settings)]))
            return
        }
        guard !isQuiet else { return }
        context.terminal.paragraph("ok: \(path.map(Terminal.harmless) ?? "no file, defaults and environment only")")
        context.terminal.print("")
        var table = TextTable([.key("key"), .prose("value"), "from"])
        for setting in configuration.settings where !isSetOnly || setting.origin != .standard {
            table.add([setting.key, setting.value == .null ? "not set" : setting.value.text, setting.origin.text])
        }
        if !table.isEmpty { context.terminal.table(table) }
    }

    /// What is no mistake, and hardly meant.
    private static func warnings(_ configuration: Configuration) -> [String] {
        configuration.apps.isEmpty
            ? ["no apps are configured, so every notification is rejected (unknown_app): set `apps`"] : []
    }

    /// A value with room to break the line after each item of a list.
    private static func spaced(_ value: JSON) -> String {
        value.arrayValue.map { "[\($0.map(\.text).joined(separator: ", "))]" } ?? value.text
    }

    /// Every key of the table, so that no other document is needed to write a configuration.
    private static var keys: [(name: String, text: String)] {
        ConfigurationKeys.all.map { entry in
            let fallback =
                entry.fallback.map { $0 == .null ? "Not set by default." : "Default: \(spaced($0))." } ?? "Required."
            return (entry.path, "\(entry.comment) Allowed: \(entry.allowed). \(fallback)")
        }
    }

    private static let discussion = """
        The file is JSON5. A key can be overridden by an environment variable: ENTITLED_ and the key in capitals, with _ \
        for each dot, as in ENTITLED_INGEST_LISTEN; lists as JSON or with commas. Secrets can be read from a file that a \
        variable with _FILE at its end names, as in ENTITLED_DATABASE_URL_FILE. ENTITLED_APPS sets all apps, as JSON. An \
        empty variable counts as not set.
        """
}
