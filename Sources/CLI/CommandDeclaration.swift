/// What a command is called, takes and does: the parser and the help follow it.
package struct CommandDeclaration: Sendable {
    package let name: String
    /// One line, for the list of commands.
    package let summary: String
    /// What one has to know to use it; for its own help.
    package let discussion: String
    package let arguments: [ArgumentDeclaration]
    package let options: [OptionDeclaration]
    /// Command lines, without `entitled`.
    package let examples: [String]

    package init(
        _ name: String, _ summary: String, discussion: String = "", arguments: [ArgumentDeclaration] = [],
        options: [OptionDeclaration] = [], examples: [String] = []
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.arguments = arguments
        self.options = options
        self.examples = examples
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
    package let summary: String

    /// A switch.
    package init(_ name: String, _ summary: String) {
        self.name = name
        value = nil
        isRepeatable = false
        self.summary = summary
    }

    package init(_ name: String, _ value: ValueKind, isRepeatable: Bool = false, _ summary: String) {
        self.name = name
        self.value = value
        self.isRepeatable = isRepeatable
        self.summary = summary
    }

    /// As the help shows it: `--root FILE`.
    package var usage: String { value.map { "\(name) \($0.placeholder)" } ?? name }
}
