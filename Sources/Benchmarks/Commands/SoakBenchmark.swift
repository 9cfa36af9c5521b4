import Base
import CLI
import TestSupport

/// `Benchmarks soak`: a long load beside what goes wrong.
struct SoakBenchmark: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        "soak", "Run hours of load with poison, a hanging consumer and a bad key, and say whether it holds.",
        discussion: """
            Exit status: 0 memory and latencies stayed as they were and nothing was lost, 1 they did not, 2 wrong use. \
            An hour at 1,000 notifications a second needs about 12 GB below /tmp.
            """,
        examples: ["soak --hours 24", "soak --minutes 30 --rate 500"])

    @Option("--minutes", .integer(1...100_000, "N"), "How long the load lasts; default: 10.") var minutes: Int?
    @Option("--hours", .integer(1...1000, "N"), "The same in hours.") var hours: Int?
    @Option("--rate", .integer(0...1_000_000, "N"), "Notifications in a second; default: 1000.") var rate = 1000
    @Option(.connections) var connections = 64
    @Option(.entitled) var entitled: String?

    func validate() throws {
        guard minutes == nil || hours == nil else {
            throw UsageError("Benchmarks soak: --minutes and --hours cannot be combined; give one of them")
        }
    }

    var options: BenchmarkOptions {
        BenchmarkOptions(
            connections: connections, rate: Double(rate), entitled: Self.daemon(entitled),
            minutes: hours.map { $0 * 60 } ?? minutes ?? 10)
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        try TemporaryFolder.with { try Soak(options: options, folder: $0, terminal: terminal).run() }
            ? 0 : ExitStatus.failed
    }
}
