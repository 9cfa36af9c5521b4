import CLI
import Daemon
import EntitledApp
import FoundationEssentials
import TestSupport
import Testing

/// Long output, and output that is repeated.
struct ReadingCommandTests {
    private struct Counting: ReadingCommand {
        static let configuration = CommandConfiguration("counting", "For a test.", examples: ["counting"])

        @Flag("--fails", "Fail.") var fails: Bool
        @Option("--lines", .integer(1...99, "N"), "Lines.") var lines: Int = 3

        func run(_ context: CommandContext) throws -> Int32 {
            if fails { throw CommandFailure("no such thing") }
            for number in 1...lines { context.terminal.print("line \(number)") }
            return 7
        }
    }

    private struct Enough: Error {}

    private var fixture: ProgramFixture {
        ProgramFixture(program: Program(root: CommandNode("entitled", "Test.", [CommandNode(Counting.self)])))
    }

    private func watch(_ words: [String], screen: Screen?) throws -> (output: String, errors: String) {
        guard
            case .command(let node, _, let parsed, _) = try ArgumentParser.parse(
                words, fixture.program.root, of: .entitled)
        else {
            throw TestFailure("no command")
        }
        #expect(node.declaration.options.map(\.name).contains("--watch"))
        let (output, errors) = (ProgramFixture.Tape(), ProgramFixture.Tape())
        let context = CommandContext(
            json: false,
            terminal: Terminal(isInteractive: screen != nil, screen: screen, output: output.add, errors: errors.add),
            standardInput: { .contents([]) }, surroundings: fixture.configuration.surroundings, configurationFile: nil)
        var waits: [Duration] = []
        let watch = Watch(try Counting(parsed), every: try #require(parsed.duration("--watch")), context)
        #expect(throws: Enough.self) {
            try watch.run { pause in
                waits.append(pause)
                if waits.count == 2 { throw Enough() }
            }
        }
        #expect(waits == [.seconds(5), .seconds(5)])
        return (output.text, errors.text)
    }

    @Test func `a command is repeated, one page below the other where there is no screen`() throws {
        #expect(
            try watch(["counting", "--watch", "5s", "--lines", "2"], screen: nil).output
                == "line 1\nline 2\nline 1\nline 2\n")
    }

    @Test func `on a screen each page replaces the former one, as far as it fits`() throws {
        let screen = Screen(columns: 80, rows: 5, clock: ManualClock(0))
        let pages = try watch(["counting", "--watch", "5s", "--lines", "9"], screen: screen).output
            .components(separatedBy: "\u{1B}[H\u{1B}[2J").dropFirst()
        #expect(
            Array(pages) == Array(repeating: "1970-01-01T00:00:00Z, every 5s; Ctrl-C ends\n\nline 1\nline 2", count: 2))
    }

    @Test func `a failure is shown, and the command is repeated`() throws {
        let (output, errors) = try watch(["counting", "--watch", "5s", "--fails"], screen: nil)
        #expect(output.isEmpty && errors == "entitled: no such thing\nentitled: no such thing\n")
    }

    @Test(arguments: [(3, true), (4, true), (2, false)])
    func `a pager shows what is longer than the screen`(lines: Int, isPaged: Bool) {
        var fixture = fixture
        let shown = ProgramFixture.Tape()
        fixture.screen = Screen(columns: 80, rows: 3)
        fixture.pager = { bytes in
            shown.add(bytes)
            return true
        }
        let done = fixture.run(["counting", "--lines", "\(lines)"])
        let text = (1...lines).map { "line \($0)\n" }.joined()
        #expect(done.status == 7)
        #expect(shown.text == (isPaged ? text : "") && done.output == (isPaged ? "" : text))
    }

    @Test func `without its program the output is printed as it is`() throws {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let pager = try #require(Pager(["PAGER": "cat > \(folder)/page"]))
        #expect(pager.show(Array("text".utf8)))
        #expect(try String(contentsOfFile: "\(folder)/page", encoding: .utf8) == "text")
        #expect(try #require(Pager(["PAGER": "\(folder)/none 2> /dev/null"])).show(Array("text".utf8)) == false)
        #expect(Pager([:]) == nil && Pager(["PAGER": ""]) == nil && Pager(["PAGER": "cat"]) == nil)
    }
}
