import Base
import CLI
import FoundationEssentials
import Glibc

extension ProgramDeclaration {
    static let benchmarks = ProgramDeclaration(
        "Benchmarks", globalOptions: [OptionDeclaration("--help", "Show this text; shorter: -h.")])
}

/// `Benchmarks`: speed and sizes, measured with real processes on private Postgres clusters.
enum BenchmarksProgram {
    static let root: CommandNode<Terminal> = CommandNode(
        "Benchmarks", "Measure the daemon with real processes on private Postgres clusters.",
        discussion: """
            Postgres and all processes are private to a run and end with it. Times of the load generator count too: it \
            works on the same cores. Exit status: 0 done, 1 it could not be done, 2 wrong use.
            """,
        [
            AllBenchmark.self, SenderBenchmark.self, VerifyBenchmark.self, IngestBenchmark.self, DeliverBenchmark.self,
            DrainBenchmark.self, SendBenchmark.self, WaitingBenchmark.self, NeighboursBenchmark.self,
            SubscribersBenchmark.self,
            HistoryBenchmark.self, CrowdBenchmark.self, GrownBenchmark.self, UpgradeBenchmark.self,
            TracingBenchmark.self,
            ConsoleBenchmark.self, ClusterBenchmark.self, RivalsBenchmark.self, SoakBenchmark.self,
        ])

    /// Runs a command line, without the program's name, as this process. 0: done, 1: it could not be done, 2: wrong use.
    static func run(_ words: [String], _ environment: [String: String]) -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        return run(words, .ofProcess(environment, program: "Benchmarks"))
    }

    static func run(_ words: [String], _ terminal: Terminal) -> Int32 {
        do {
            switch try ArgumentParser.parse(words, root, of: .benchmarks) {
            case .help(let node, let path):
                terminal.print(HelpText.text(node, path: path, of: .benchmarks))
                return 0
            case .group(let node, let path):
                terminal.printError(HelpText.text(node, path: path, of: .benchmarks))
                return ExitStatus.wrongUsage
            case .command(let node, _, let parsed, _):
                return try node.make?(parsed).run(terminal) ?? ExitStatus.wrongUsage
            }
        } catch let error as UsageError {
            terminal.complain(error.description)
            return ExitStatus.wrongUsage
        } catch {
            terminal.complain("\(error)")
            return ExitStatus.failed
        }
    }

    /// The program `entitled` in this program's folder.
    static var daemonBeside: String {
        let program =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let folder = program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return folder.isEmpty ? "entitled" : "\(folder)/entitled"
    }

    /// A line on standard error for people who watch.
    static func note(_ text: String) {
        var rest = Array("\(text)\n".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
