import Base
import CLI

/// A command that measures with these sizes.
protocol BenchmarkCommand: ParsableCommand<Terminal> {
    var options: BenchmarkOptions { get }
}

/// A command that runs one scenario and prints its report.
protocol ScenarioCommand: BenchmarkCommand {
    static var scenario: BenchmarkScenario { get }
    var json: Bool { get }
}

extension ScenarioCommand {
    func run(_ terminal: Terminal) throws -> Int32 {
        let report = try Self.scenario.run(options)
        terminal.print(json ? report.json.text : report.text)
        return 0
    }
}

extension BenchmarkCommand {
    /// - Parameter entitled: the value of `--entitled`.
    static func daemon(_ entitled: String?) -> String { entitled ?? BenchmarksProgram.daemonBeside }
}

/// Options that many scenarios have.
extension OptionDeclaration {
    static let bodies = OptionDeclaration(
        "--bodies", .file, "Keep the signed requests in this file, and read them from it if it has them.")
    static let connections = OptionDeclaration(
        "--connections", .integer(1...1000, "N"), "Connections that the load generator keeps open; default: 64.")
    static let entitled = OptionDeclaration(
        "--entitled", .text("PATH"), "Program of the daemon; default: entitled beside this program.")
    static let json = OptionDeclaration("--json", "Print one JSON document.")
    static let quick = OptionDeclaration("--quick", "Measure a few minutes less, with backlogs of a tenth or less.")
    static let rate = OptionDeclaration(
        "--rate", .integer(0...1_000_000, "N"),
        "Requests in a second; 0, the default: as many as are answered.")
    static let statements = OptionDeclaration(
        "--statements", "Report what each statement costs Postgres; only with --json.")
}

extension ValueKind {
    /// Distinct requests of a run or a round.
    static let count = ValueKind.integer(1...10_000_000, "N")
    static let rounds = ValueKind.integer(1...1000, "N")
    static let facts = ValueKind.integer(6...1_000_000, "N")
    static let customers = ValueKind.integer(1...10_000_000, "N")
    static let purchases = ValueKind.integer(1...20_000_000, "N")
    static let shards = ValueKind.integer(2...256, "N")
    /// Rows that wait.
    static let waiting = ValueKind.integer(0...10_000_000, "N")
}
