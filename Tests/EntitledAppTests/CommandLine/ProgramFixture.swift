import Base
import CLI
import Daemon
import EntitledApp
import Synchronization

/// Runs command lines in process and keeps what they print.
struct ProgramFixture {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String

        var document: JSON? { try? JSON(parsing: Array(output.utf8)) }
        var errorLines: Int { errors.split(separator: "\n").count }
    }

    final class Tape: Sendable {
        private let bytes = Mutex<[UInt8]>([])

        func add(_ more: [UInt8]) { bytes.withLock { $0 += more } }
        var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
    }

    var configuration = ConfigurationFixture()
    var program = EntitledApp.program
    var isInteractive = false
    var screen: Screen?
    var pager: (@Sendable ([UInt8]) -> Bool)?

    func run(_ words: [String]) -> Outcome {
        let output = Tape()
        let errors = Tape()
        let terminal = Terminal(
            isInteractive: isInteractive, screen: screen, pager: pager, output: output.add, errors: errors.add)
        let status = program.run(
            words, terminal: terminal, standardInput: { .contents([]) }, surroundings: configuration.surroundings)
        return Outcome(status: status, output: output.text, errors: errors.text)
    }
}
