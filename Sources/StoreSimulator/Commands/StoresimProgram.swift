import Base
import CLI

extension ProgramDeclaration {
    static let storesim = ProgramDeclaration(
        "storesim", globalOptions: [OptionDeclaration("--help", "Show this text; shorter: -h.")])
}

/// `storesim`: the App Store for tests, demonstrations and benchmarks.
package enum StoresimProgram {
    static let root: CommandNode<Terminal> = CommandNode(
        "storesim", "Play the App Store for tests, demonstrations and benchmarks.",
        discussion:
            "Never trust its certificates in production. Exit status: 0 done, 1 it could not be done, 2 wrong use.",
        [
            PKICommand.self, SignCommand.self, PlayCommand.self, ReceiveCommand.self, ServeCommand.self,
            StoresimVersionCommand.self,
        ])

    /// Runs a command line, without the program's name, as this process. 0: done, 1: it could not be done, 2: wrong use.
    package static func run(_ words: [String], _ environment: [String: String]) -> Int32 {
        run(words, .ofProcess(environment, program: "storesim"))
    }

    package static func run(_ words: [String], _ terminal: Terminal) -> Int32 {
        do {
            switch try ArgumentParser.parse(words, root, of: .storesim) {
            case .help(let node, let path):
                terminal.print(HelpText.text(node, path: path, of: .storesim))
                return 0
            case .group(let node, let path):
                terminal.printError(HelpText.text(node, path: path, of: .storesim))
                return ExitStatus.wrongUsage
            case .command(let node, _, let parsed, _):
                return try node.make?(parsed).run(terminal) ?? 2
            }
        } catch let error as UsageError {
            terminal.complain(error.description)
            return ExitStatus.wrongUsage
        } catch {
            terminal.complain("\(error)")
            return ExitStatus.failed
        }
    }
}

/// `storesim version`: the release that the program was built from.
struct StoresimVersionCommand: Command {
    static let declaration = CommandDeclaration("version", "Print the version.", examples: ["version"])

    init(_ parsed: ParsedArguments) {}

    func run(_ terminal: Terminal) -> Int32 {
        terminal.print(Version.current)
        return 0
    }
}
