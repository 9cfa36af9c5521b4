import Base
import CLI
import Daemon

/// One thing that the program does.
package protocol Command: Sendable {
    static var declaration: CommandDeclaration { get }

    /// Takes what the parser accepted; throws `UsageError` for what only together makes no sense.
    init(_ parsed: ParsedArguments) throws

    /// Does it; the exit status. What it throws becomes one line on standard error: `UsageError` and
    /// `ConfigurationMistakes` end with 2, everything else with 1.
    func run(_ context: CommandContext) throws -> Int32
}

/// A command whose declaration follows from its properties (`@Argument`, `@Option`, `@Flag`, `@OptionGroup`): one type, in
/// a file of its own, listed in `CommandTree`.
package protocol ParsableCommand: Command, ParsableArguments {
    static var configuration: CommandConfiguration { get }

    /// Reads what is read before the work begins. Throws `UsageError` for values that make no sense together.
    mutating func validate() throws
}

extension ParsableCommand {
    package static var declaration: CommandDeclaration { CommandDeclaration(configuration, inputs: inputs) }

    package init(_ parsed: ParsedArguments) throws {
        self.init(reading: parsed)
        try validate()
    }

    package mutating func validate() throws {}
}

/// What a command works with; a test gives its own.
package struct CommandContext: Sendable {
    /// Whether output is for machines.
    package let json: Bool
    package let terminal: Terminal
    /// Reads standard input to its end.
    package let standardInput: @Sendable () -> FileReading
    package let surroundings: ConfigurationContext
    /// What `--config` said.
    package let configurationFile: String?

    package var environment: [String: String] { surroundings.environment }

    package init(
        json: Bool, terminal: Terminal, standardInput: @escaping @Sendable () -> FileReading,
        surroundings: ConfigurationContext, configurationFile: String?
    ) {
        self.json = json
        self.terminal = terminal
        self.standardInput = standardInput
        self.surroundings = surroundings
        self.configurationFile = configurationFile
    }

    /// Loads the configuration; only commands that need one ask.
    package func configuration() throws(ConfigurationMistakes) -> Configuration {
        try Configuration.load(file: configurationFile, surroundings)
    }
}

/// Why something could not be done: one line, exit status 1.
package struct CommandFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
