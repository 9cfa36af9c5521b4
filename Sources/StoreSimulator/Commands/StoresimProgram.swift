import Base

/// One of storesim's commands: reads its arguments first, entirely, and works then.
protocol StoresimCommand {
    static var syntax: CommandSyntax { get }

    init(_ arguments: CommandArguments) throws(UsageError)

    /// The exit status. What it throws is told in one line, with exit status 1.
    func run(_ terminal: Terminal) throws -> Int32
}

/// `storesim`: the App Store for tests, demonstrations and benchmarks.
package enum StoresimProgram {
    private static var commands: [any StoresimCommand.Type] {
        [PKICommand.self, SignCommand.self, PlayCommand.self, ReceiveCommand.self, ServeCommand.self]
    }

    /// Runs the command line (without the program's name). 0: done, 1: it could not be done, 2: wrong use.
    package static func run(_ arguments: [String], _ terminal: Terminal = .standard) -> Int32 {
        do {
            return try dispatch(arguments, terminal)
        } catch let error as UsageError {
            terminal.note("\(error)\n")
            return 2
        } catch {
            terminal.note("storesim: \(error)\n")
            return 1
        }
    }

    private static func dispatch(_ arguments: [String], _ terminal: Terminal) throws -> Int32 {
        guard let name = arguments.first else {
            throw UsageError(
                "storesim: which command? One of \(commands.map { $0.syntax.name }.joined(separator: ", ")); see --help"
            )
        }
        if ["--help", "-h", "help"].contains(name) {
            terminal.line(help)
            return 0
        }
        if ["--version", "version"].contains(name) {
            terminal.line(Version.current)
            return 0
        }
        guard let command = commands.first(where: { $0.syntax.name == name }) else {
            throw UsageError("storesim: unknown command \"\(name)\"; see --help")
        }
        let parsed = try command.syntax.parse(Array(arguments.dropFirst()))
        if parsed.wantsHelp {
            terminal.line(command.syntax.help)
            return 0
        }
        return try command.init(parsed).run(terminal)
    }

    private static var help: String {
        let width = commands.map { $0.syntax.name.count }.max() ?? 0
        let lines = commands.map { command in
            let name = command.syntax.name
            return "  \(name)\(String(repeating: " ", count: width - name.count + 2))\(command.syntax.summary)"
        }
        return """
            usage: storesim COMMAND [options]

            The App Store for tests, demonstrations and benchmarks. Never trust its certificates in production.

            \(lines.joined(separator: "\n"))

            storesim COMMAND --help tells more. Exit status: 0 done, 1 it could not be done, 2 wrong use.
            """
    }
}
