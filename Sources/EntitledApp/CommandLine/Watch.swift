import Base
import CLI
import Daemon

/// The repetition of a command until Ctrl-C.
package struct Watch {
    package static let option = OptionDeclaration(
        "--watch", .duration(.seconds(1)...Duration.seconds(3600)), "Repeat at this interval until Ctrl-C.")

    private let command: any Command<CommandContext>
    private let pause: Duration
    private let context: CommandContext

    package init(_ command: any Command<CommandContext>, every pause: Duration, _ context: CommandContext) {
        self.command = command
        self.pause = pause
        self.context = context
    }

    /// Repeats the command until `wait` throws, which ends it; a test does so. A failure such as a database that is
    /// restarted is shown, and the next repetition follows.
    package func run(wait: (Duration) throws -> Void = Pause.wait) throws -> Int32 {
        while true {
            try show()
            try wait(pause)
        }
    }

    private func show() throws {
        let page = Monitor<[UInt8]>([])
        let inner = context.with(context.terminal.redirected { bytes in page.change { $0 += bytes } })
        var failure: String?
        do {
            _ = try command.run(inner)
        } catch let error as UsageError {
            throw error
        } catch let error as ConfigurationMistakes {
            throw error
        } catch {
            failure = "\(error)"
        }
        context.terminal.write(framed(page.change { $0 }))
        if let failure { context.terminal.complain(failure) }
    }

    /// On a screen: in place of the former page, under a line with the time, without the lines that do not fit.
    private func framed(_ page: [UInt8]) -> [UInt8] {
        guard let screen = context.terminal.screen else { return page }
        let heading = "\(Timestamp.text(screen.now)), every \(pause.text); Ctrl-C ends\n\n"
        let clear = context.terminal.isInteractive ? "\u{1B}[H\u{1B}[2J" : ""
        var lines = page.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if let rows = screen.rows { lines = Array(lines.prefix(max(1, rows - 3))) }
        return Array((clear + heading).utf8) + lines.joined(separator: [UInt8(ascii: "\n")])
    }
}
