import Base
import CLI
import Daemon

/// `entitled check-config`: every mistake at once, or what is in force.
package struct CheckConfigCommand: Command {
    package static let declaration = CommandDeclaration(
        "check-config", "Reports all mistakes of the configuration, or what is in force.", discussion: discussion,
        examples: ["check-config", "check-config --config ./entitled.json5 --json"])

    package init(_ parsed: ParsedArguments) {}

    package func run(_ context: CommandContext) throws -> Int32 {
        do {
            let (document, path) = try ConfigurationFile.document(context.configurationFile, context.surroundings)
            show(try Configuration.parse(document, context.surroundings), path, context)
            return 0
        } catch {
            guard context.json else { throw error }
            context.terminal.document(
                .object(["ok": .bool(false), "mistakes": .array(error.all.map(\.document))]))
            return 2
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
        context.terminal.print("ok: \(path.map(Terminal.harmless) ?? "no file, defaults and environment only")\n")
        var table = TextTable(["key", "value", "from"])
        for setting in configuration.settings {
            table.add([setting.key, setting.value == .null ? "not set" : setting.value.text, setting.origin.text])
        }
        context.terminal.table(table)
    }

    /// A value with room to break the line after each item of a list.
    private static func spaced(_ value: JSON) -> String {
        value.arrayValue.map { "[\($0.map(\.text).joined(separator: ", "))]" } ?? value.text
    }

    /// Every key of the table, so that no other document is needed to write a configuration.
    private static var discussion: String {
        let keys = ConfigurationKeys.all.map { entry -> (name: String, text: String) in
            let fallback =
                entry.fallback.map { $0 == .null ? "Not set by default." : "Default: \(spaced($0))." } ?? "Required."
            return (entry.path, "\(entry.comment) Allowed: \(entry.allowed). \(fallback)")
        }
        return """
            The file is JSON5. A key can be overridden by an environment variable: ENTITLED_ and the key in capitals, with _ \
            for each dot, as in ENTITLED_INGEST_LISTEN; lists as JSON or with commas. Secrets can be read from a file that a variable \
            with _FILE at its end names, as in ENTITLED_DATABASE_URL_FILE. ENTITLED_APPS sets all apps, as JSON. An empty \
            variable counts as not set.

            """ + "\n" + HelpText.list("Keys", keys)
    }
}
