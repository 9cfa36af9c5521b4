import Base
import CLI
import Daemon
import Postgres

/// The program: finds the command that is asked for and runs it.
package struct Program: Sendable {
    package let root: CommandNode<CommandContext>

    package init(root: CommandNode<CommandContext>) {
        self.root = root
    }

    /// Runs one command line, without the program's own name, as this process. The exit status.
    package func run(_ words: [String]) -> Int32 {
        let surroundings = ConfigurationContext.ofProcess()
        return run(
            words, terminal: .ofProcess(surroundings.environment), standardInput: { FileReading.read(0) },
            surroundings: surroundings, explainsWaits: true)
    }

    /// Runs one command line in these surroundings. The exit status: 0 done, 1 it could not be done, 2 wrong use.
    ///
    /// - Parameter explainsWaits: whether standard error tells what the database's statements wait for, in the whole process.
    package func run(
        _ words: [String], terminal: Terminal, standardInput: @escaping @Sendable () -> FileReading,
        surroundings: ConfigurationContext, explainsWaits: Bool = false
    ) -> Int32 {
        do {
            switch try ArgumentParser.parse(words, root, of: .entitled) {
            case .help(let node, let path):
                terminal.page(Array(help(node, path, terminal).utf8))
                return 0
            case .group(let node, let path):
                terminal.printError(help(node, path, terminal))
                return ExitStatus.wrongUsage
            case .command(let node, let path, let parsed, let global):
                guard let make = node.make else {
                    throw UsageError("unknown command '\(path.joined(separator: " "))': it is not part of this build")
                }
                var context = CommandContext(
                    json: global.has("--json"), terminal: terminal, standardInput: standardInput,
                    surroundings: surroundings,
                    configurationFile: global.text("--config"))
                let command = try make(parsed)
                if explainsWaits, !(command is any ServingCommand) {
                    StatementWaits.begin { terminal.complain($0) }
                }
                context.remote = try RemoteOptions.client(for: command, path, parsed, context)
                return try run(command, parsed, context)
            }
        } catch let error as UsageError {
            terminal.complain(error.description)
            return ExitStatus.wrongUsage
        } catch let mistakes as ConfigurationMistakes {
            Program.complain(mistakes, terminal)
            return ExitStatus.wrongUsage
        } catch {
            terminal.complain("\(error)")
            return ExitStatus.failed
        }
    }

    private func run(
        _ command: any Command<CommandContext>, _ parsed: ParsedArguments, _ context: CommandContext
    ) throws -> Int32 {
        guard command is any ReadingCommand else { return try command.run(context) }
        if let pause = parsed.duration(Watch.option.name) {
            return try Watch(command, every: pause, context).run()
        }
        return context.terminal.hasPager ? try context.page(command) : try command.run(context)
    }

    private func help(_ node: CommandNode<CommandContext>, _ path: [String], _ terminal: Terminal) -> String {
        HelpText.text(
            node, path: path, of: .entitled, width: min(terminal.screen?.columns ?? HelpText.width, HelpText.width))
    }

    /// All mistakes, a line each.
    static func complain(_ mistakes: ConfigurationMistakes, _ terminal: Terminal) {
        for mistake in mistakes.all {
            terminal.complain("configuration: \(mistake)")
        }
    }
}
