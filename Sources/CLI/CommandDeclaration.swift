/// What a command is called, takes and does: the parser and the help follow it.
package struct CommandDeclaration: Sendable {
    package let name: String
    /// One line, for the list of commands.
    package let summary: String
    /// What one has to know to use it; for its own help.
    package let discussion: String
    /// Names that the discussion is about, each with its meaning, such as the keys of the configuration.
    package let topics: [Topic]
    package let arguments: [ArgumentDeclaration]
    package let options: [OptionDeclaration]
    /// Command lines, without `entitled`.
    package let examples: [String]

    package init(
        _ name: String, _ summary: String, discussion: String = "", topics: [Topic] = [],
        arguments: [ArgumentDeclaration] = [], options: [OptionDeclaration] = [], examples: [String] = []
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.topics = topics
        self.arguments = arguments
        self.options = options
        self.examples = examples
    }
}

extension CommandDeclaration {
    /// A list of its own in the help.
    package struct Topic: Sendable {
        package let title: String
        package let entries: [(name: String, text: String)]

        package init(_ title: String, _ entries: [(name: String, text: String)]) {
            self.title = title
            self.entries = entries
        }
    }
}

/// A value that is known by its place.
package struct ArgumentDeclaration: Sendable {
    package let value: ValueKind
    package let isOptional: Bool
    package let summary: String

    package init(_ value: ValueKind, isOptional: Bool = false, _ summary: String) {
        self.value = value
        self.isOptional = isOptional
        self.summary = summary
    }

    /// As the usage line shows it: `FILE`.
    package var name: String { value.placeholder }
}

/// A value that is known by a name, or a switch.
package struct OptionDeclaration: Sendable {
    /// With its dashes.
    package let name: String
    /// Nil for a switch.
    package let value: ValueKind?
    package let isRepeatable: Bool
    /// Whether the command is refused without it.
    package let isRequired: Bool
    package let summary: String

    /// A switch.
    package init(_ name: String, _ summary: String) {
        self.name = name
        value = nil
        isRepeatable = false
        isRequired = false
        self.summary = summary
    }

    package init(
        _ name: String, _ value: ValueKind, isRepeatable: Bool = false, isRequired: Bool = false, _ summary: String
    ) {
        self.name = name
        self.value = value
        self.isRepeatable = isRepeatable
        self.isRequired = isRequired
        self.summary = summary
    }

    /// As the help shows it: `--root FILE`.
    package var usage: String { value.map { "\(name) \($0.placeholder)" } ?? name }
}

/// What a command's type says of it beside its properties.
package struct CommandConfiguration: Sendable {
    package let name: String
    package let abstract: String
    package let discussion: String
    package let topics: [CommandDeclaration.Topic]
    package let examples: [String]

    /// - Parameters:
    ///   - name: the word at the end of the command line that leads here.
    ///   - abstract: one sentence, for the list of commands.
    ///   - discussion: the knowledge that using the command takes.
    ///   - examples: command lines, without `entitled`.
    package init(
        _ name: String, _ abstract: String, discussion: String = "", topics: [CommandDeclaration.Topic] = [],
        examples: [String] = []
    ) {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.topics = topics
        self.examples = examples
    }
}

extension CommandDeclaration {
    package init(_ configuration: CommandConfiguration, inputs: [InputDeclaration]) {
        self.init(
            configuration.name, configuration.abstract, discussion: configuration.discussion,
            topics: configuration.topics,
            arguments: inputs.compactMap { if case .argument(let argument) = $0 { argument } else { nil } },
            options: inputs.compactMap { if case .option(let option) = $0 { option } else { nil } },
            examples: configuration.examples)
    }
}
