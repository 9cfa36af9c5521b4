/// The program as it is installed.
package enum EntitledApp {
    /// What each declared command does.
    package static let makers: [String: CommandNode.Maker] = [:]

    package static let program = Program(root: CommandTree.root(makers))
}
