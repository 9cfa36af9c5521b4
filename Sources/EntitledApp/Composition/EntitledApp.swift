/// The program as it is installed.
package enum EntitledApp {
    package static let program = Program(root: CommandTree.root)
}
