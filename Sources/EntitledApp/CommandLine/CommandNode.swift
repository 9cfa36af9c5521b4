import CLI

/// A command, or a group of commands with a name of its own.
package struct CommandNode: Sendable {
    package typealias Maker = @Sendable (ParsedArguments) throws -> any Command

    package let declaration: CommandDeclaration
    /// Empty for a command.
    package let children: [CommandNode]
    /// Nil for a group.
    let make: Maker?

    /// A command.
    package init<Implementation: Command>(_ implementation: Implementation.Type) {
        declaration = Implementation.declaration
        children = []
        make = { parsed in try Implementation(parsed) }
    }

    /// A group.
    package init(_ name: String, _ summary: String, discussion: String = "", _ children: [CommandNode]) {
        declaration = CommandDeclaration(name, summary, discussion: discussion)
        self.children = children
        make = nil
    }

    /// A command whose work is given apart from its declaration.
    package init(_ declaration: CommandDeclaration, make: Maker?) {
        self.declaration = declaration
        children = []
        self.make = make
    }

    package func child(_ name: String) -> CommandNode? { children.first { $0.declaration.name == name } }

    /// The commands at the ends, with the words that lead there.
    package var leaves: [(path: [String], node: CommandNode)] {
        children.flatMap { child in
            child.children.isEmpty
                ? [([child.declaration.name], child)]
                : child.leaves.map { ([child.declaration.name] + $0.path, $0.node) }
        }
    }
}
