import Base
import CLI
import Daemon
import Testing

@testable import Benchmarks

struct BenchmarkCommandTests {
    /// The command of a command line, made but not run.
    private static func command(_ line: String) throws -> any BenchmarkCommand {
        let words = line.split(separator: " ").map(String.init)
        guard
            case .command(let node, _, let parsed, _) = try ArgumentParser.parse(
                words, BenchmarksProgram.root, of: .benchmarks),
            let command = try node.make?(parsed) as? any BenchmarkCommand
        else { throw BenchmarkFailure("'\(line)' is no command") }
        return command
    }

    /// The status of a command line, its output, and its complaints.
    private static func run(_ line: String) -> (status: Int32, output: String, complaints: String) {
        let texts = Monitor<(output: [UInt8], complaints: [UInt8])>(([], []))
        let terminal = Terminal(program: "Benchmarks", isInteractive: false) { bytes in
            texts.change { $0.output += bytes }
        } errors: { bytes in
            texts.change { $0.complaints += bytes }
        }
        let status = BenchmarksProgram.run(line.split(separator: " ").map(String.init), terminal)
        let (output, complaints) = texts.read { $0 }
        return (status, String(decoding: output, as: UTF8.self), String(decoding: complaints, as: UTF8.self))
    }

    private typealias Line = (line: String, scenario: BenchmarkScenario?, options: BenchmarkOptions, json: Bool)

    /// Those of `deploy` and of Performance.md, and every option.
    private static var lines: [Line] {
        let beside = BenchmarksProgram.daemonBeside
        return [
            ("all", nil, BenchmarkOptions(entitled: beside), false),
            ("all --quick --json", nil, BenchmarkOptions(entitled: beside, quick: true), true),
            (
                "all --bodies FILE --rounds 7 --connections 8 --statements --entitled bin/entitled", nil,
                BenchmarkOptions(
                    connections: 8, rounds: 7, bodies: "FILE", entitled: "bin/entitled", statements: true), false
            ),
            (
                "sender --quick --json --bodies FILE", nil,
                BenchmarkOptions(bodies: "FILE", entitled: beside, quick: true), true
            ),
            ("verify --count 5000 --bodies FILE", .verify, BenchmarkOptions(count: 5000, bodies: "FILE"), false),
            ("verify --rounds 2", .verify, BenchmarkOptions(rounds: 2), false),
            ("ingest", .ingest, BenchmarkOptions(entitled: beside), false),
            (
                "ingest --count 5000 --bodies FILE --json", .ingest,
                BenchmarkOptions(count: 5000, bodies: "FILE", entitled: beside), true
            ),
            (
                "ingest --rate 100 --connections=1000 --statements", .ingest,
                BenchmarkOptions(connections: 1000, rate: 100, entitled: beside, statements: true), false
            ),
            (
                "deliver --rate 0 --count 1 --statements --json", .deliver,
                BenchmarkOptions(count: 1, entitled: beside, statements: true), true
            ),
            (
                "drain --count 5000 --bodies FILE --json", .drain,
                BenchmarkOptions(count: 5000, bodies: "FILE", entitled: beside), true
            ),
            (
                "drain --backlog 1000000 --retries 10000000", .drain,
                BenchmarkOptions(entitled: beside, backlog: 1_000_000, retries: 10_000_000), false
            ),
            (
                "send --in-flight 2000 --rounds 1 --count 2000", .send,
                BenchmarkOptions(count: 2000, rounds: 1, entitled: beside, inFlight: 2000), false
            ),
            ("waiting --backlog 50000", .waiting, BenchmarkOptions(entitled: beside, backlog: 50_000), false),
            (
                "neighbours --rate 8 --endpoints 20 --backlog 10000 --rounds 3", .neighbours,
                BenchmarkOptions(rate: 8, rounds: 3, entitled: beside, backlog: 10_000, endpoints: 20), false
            ),
            ("subscribers", .subscribers, BenchmarkOptions(entitled: beside), false),
            (
                "subscribers --customers 100000 --statements", .subscribers,
                BenchmarkOptions(entitled: beside, customers: 100_000, statements: true), false
            ),
            ("history", .history, BenchmarkOptions(count: 200, entitled: beside), false),
            ("history --facts 6", .history, BenchmarkOptions(count: 200, entitled: beside, facts: 6), false),
            ("crowd", .crowd, BenchmarkOptions(rounds: 3, entitled: beside, purchases: 256), false),
            (
                "crowd --purchases 32 --facts 2000", .crowd,
                BenchmarkOptions(rounds: 3, entitled: beside, facts: 2000, purchases: 32), false
            ),
            ("grown", .grown, BenchmarkOptions(count: 2000, rounds: 3, entitled: beside), false),
            (
                "grown --purchases 40000 --count 1000", .grown,
                BenchmarkOptions(count: 1000, rounds: 3, entitled: beside, purchases: 40_000), false
            ),
            ("upgrade", .upgrade, BenchmarkOptions(), false),
            ("upgrade --purchases 20000000", .upgrade, BenchmarkOptions(purchases: 20_000_000), false),
            ("tracing", .tracing, BenchmarkOptions(count: 4000, rounds: 3, entitled: beside), false),
            ("console", .console, BenchmarkOptions(rounds: 20, entitled: beside, customers: 100_000), false),
            (
                "console --customers 1000 --json", .console,
                BenchmarkOptions(rounds: 20, entitled: beside, customers: 1000), true
            ),
            ("rivals", .rivals, BenchmarkOptions(count: 300, rounds: 3, entitled: beside), false),
            ("soak", nil, BenchmarkOptions(rate: 1000, entitled: beside, minutes: 10), false),
            ("soak --hours 24", nil, BenchmarkOptions(rate: 1000, entitled: beside, minutes: 1440), false),
            ("soak --minutes 30 --rate 500", nil, BenchmarkOptions(rate: 500, entitled: beside, minutes: 30), false),
        ]
    }

    @Test func `every command line that is documented means what it meant`() throws {
        for (line, scenario, options, json) in Self.lines {
            let command = try Self.command(line)
            #expect(command.options == options, "\(line)")
            let single = command as? any ScenarioCommand
            #expect(single.map { type(of: $0).scenario } == scenario, "\(line)")
            let printsJSON = single?.json ?? (command as? AllBenchmark)?.json ?? (command as? SenderBenchmark)?.json
            #expect((printsJSON ?? false) == json, "\(line)")
        }
    }

    @Test(arguments: [
        ("dance", "unknown command 'dance'; there are: all, sender, verify"),
        ("verfy", "unknown command 'verfy'; did you mean 'verify'?"),
        ("--rate 5 ingest", "unknown option --rate of Benchmarks; see Benchmarks --help"),
        ("ingest --cuont 5", "unknown option --cuont of Benchmarks ingest; did you mean --count?"),
        ("upgrade --connections 5", "unknown option --connections of Benchmarks upgrade"),
        ("ingest --count", "--count of Benchmarks ingest needs a whole number from 1 to 10000000"),
        ("ingest --count --json", "--count of Benchmarks ingest needs a whole number from 1 to 10000000"),
        ("ingest --count 0", "--count of Benchmarks ingest cannot be '0'; allowed: a whole number from 1 to 10000000"),
        ("ingest --count many", "--count of Benchmarks ingest cannot be 'many'; allowed: a whole number"),
        ("ingest --connections 1001", "cannot be '1001'; allowed: a whole number from 1 to 1000"),
        ("deliver --rate 1.5", "--rate of Benchmarks deliver cannot be '1.5'; allowed: a whole number from 0"),
        ("history --facts 5", "cannot be '5'; allowed: a whole number from 6 to 1000000"),
        ("ingest --count 1 --count 2", "--count of Benchmarks ingest is given twice"),
        ("ingest --json=yes", "--json of Benchmarks ingest takes no value"),
        ("ingest more", "Benchmarks ingest has one argument too many: 'more'"),
        ("soak --hours 1 --minutes 5", "--minutes and --hours cannot be combined"),
        ("soak --hours 1001", "--hours of Benchmarks soak cannot be '1001'"),
    ])
    func `wrong use is explained in one line and ends with status 2`(line: String, complaint: String) {
        let (status, output, complaints) = Self.run(line)
        #expect(status == 2)
        #expect(output.isEmpty)
        #expect(complaints.hasPrefix("Benchmarks: "))
        #expect(complaints.contains(complaint), "\(complaints)")
        #expect(complaints.filter { $0 == "\n" }.count == 1)
    }

    @Test func `help lists every scenario, and of each its options`() {
        let (status, output, complaints) = Self.run("--help")
        #expect(status == 0)
        #expect(complaints.isEmpty)
        for child in BenchmarksProgram.root.children {
            let name = child.declaration.name
            #expect(output.contains("\n  \(name) "), "\(name)")
            let (status, own, _) = Self.run("\(name) -h")
            #expect(status == 0)
            #expect(own.contains("Usage: Benchmarks \(name)"), "\(name)")
            for option in child.declaration.options { #expect(own.contains("  \(option.usage)"), "\(name)") }
        }
        let bare = Self.run("")
        #expect(bare.status == 2)
        #expect(bare.complaints == output)
    }
}
