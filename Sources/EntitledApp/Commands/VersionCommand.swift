import Base
import CLI

/// `entitled version`.
package struct VersionCommand: Command {
    package static let declaration = CommandDeclaration("version", "Print the version.", examples: ["version"])

    package init(_ parsed: ParsedArguments) {}

    package func run(_ context: CommandContext) -> Int32 {
        if context.json {
            context.terminal.document(.object(["version": .string(Version.current)]))
        } else {
            context.terminal.print("entitled \(Version.current)")
        }
        return 0
    }
}
