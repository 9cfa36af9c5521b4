/// A command, or a group of commands with a name of its own.
package struct CommandNode<Context>: Sendable {
    package typealias Maker = @Sendable (ParsedArguments) throws -> any Command<Context>

    package let declaration: CommandDeclaration
    /// Empty for a command.
    package let children: [CommandNode]
    /// Nil for a group.
    package let make: Maker?

    /// A command.
    package init<Implementation: Command<Context>>(_ implementation: Implementation.Type) {
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

    /// A group of commands only.
    package init(_ name: String, _ summary: String, discussion: String = "", _ commands: [any Command<Context>.Type]) {
        self.init(name, summary, discussion: discussion, commands.map { CommandNode($0) })
    }

    /// The same tree with other work for one command, for tests.
    ///
    /// - Parameter path: the words that lead to the command.
    package func replacing(_ path: [String], by make: @escaping Maker) -> CommandNode {
        guard let name = path.first else { return CommandNode(declaration, children, make) }
        return CommandNode(
            declaration,
            children.map { child in
                child.declaration.name == name ? child.replacing(Array(path.dropFirst()), by: make) : child
            }, self.make)
    }

    private init(_ declaration: CommandDeclaration, _ children: [CommandNode], _ make: Maker?) {
        self.declaration = declaration
        self.children = children
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
