import Base
import CLI
import Daemon

extension ProgramDeclaration {
    package static let entitled = ProgramDeclaration(
        "entitled",
        globalOptions: [
            OptionDeclaration(
                "--config", .file,
                "Configuration file; default: $ENTITLED_CONFIG, else \(ConfigurationFile.standardPath)."),
            OptionDeclaration("--json", "Print one JSON document, for programs."),
            OptionDeclaration("--help", "Show this text; shorter: -h."),
        ],
        refusals: Dictionary(
            uniqueKeysWithValues: RemoteOptions.all(RemoteOptions.url).map {
                ($0.name, "\(RemoteOptions.onHostOnly) (\($0.name))")
            }))
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
    /// The operator API that the command asks instead of the database; only for a `RemoteCommand`.
    var remote: OperatorClient?

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

    /// Where the configuration is, for processes that read it again.
    package var configurationSource: ConfigurationSource { ConfigurationSource(file: configurationFile, surroundings) }

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
