import Base
import CLI
import Daemon

/// A command that reads and prints one page: a pager shows it where it is long, and `--watch` repeats it.
package protocol ReadingCommand: ParsableCommand where Context == CommandContext {}

extension ReadingCommand {
    package static var declaration: CommandDeclaration {
        CommandDeclaration(configuration, inputs: inputs + [.option(Watch.option)])
    }
}

extension CommandContext {
    /// Runs a command and shows its output as a whole.
    func page(_ command: any Command<CommandContext>) throws -> Int32 {
        let page = Monitor<[UInt8]>([])
        defer { terminal.page(page.change { $0 }) }
        return try command.run(with(terminal.redirected { bytes in page.change { $0 += bytes } }))
    }

    func with(_ terminal: Terminal) -> CommandContext {
        var context = CommandContext(
            json: json, terminal: terminal, standardInput: standardInput, surroundings: surroundings,
            configurationFile: configurationFile)
        context.remote = remote
        return context
    }
}
