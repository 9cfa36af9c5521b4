import Base

/// What the command line asks for.
struct BenchmarkOptions {
    enum Scenario: String, CaseIterable {
        case verify, ingest, deliver, drain, send, waiting, neighbours, subscribers, history, crowd, grown, upgrade,
            tracing, console,
            rivals,
            all, sender, soak

        var summary: String {
            switch self {
            case .verify: "CPU time of one signature check, of one verified JWS, of one body read"
            case .ingest: "notifications posted to a real `entitled ingest`; bytes kept of each"
            case .deliver: "from the post to the webhook, with a real worker and a local consumer"
            case .drain: "a worker's rate of applying what already waits"
            case .send: "deliveries that wait, sent by a worker with so much in flight"
            case .waiting: "a worker's memory with very many deliveries that wait"
            case .neighbours: "whether slow and dead consumers delay healthy ones"
            case .subscribers: "apps that ask a real `entitled api` for customers: cold, then with snapshots"
            case .history: "what applying costs where much was said of a purchase before"
            case .crowd: "fresh customers beside many such purchases"
            case .grown: "accepting, applying and reading beside very many purchases"
            case .upgrade: "a writer's longest wait while large tables are migrated"
            case .rivals: "apps that post receipts while one address and one Apple account do their worst"
            case .tracing: "what traces cost ingest and a worker: without, and with each recorded, in turns"
            case .console: "what operators wait for beside very many customers: each list, record and search; plans"
            case .soak: "hours of load with poison, a hanging consumer and a bad key: flat, and nothing lost?"
            case .all: "P1 to P11 of these, one table: what is measured, how, the value, and what is asked for"
            case .sender: "the same for send, waiting and neighbours"
            }
        }
    }

    var scenario: Scenario
    /// Distinct notifications.
    var count = 20_000
    var connections = 64
    /// Notifications in a second; 0: as fast as possible.
    var rate = 0.0
    var rounds = 5
    /// Where signed requests are kept for the next run; nil: in a file that goes at the end.
    var bodies: String?
    /// The daemon's program.
    var entitled: String
    /// Further rows in the line behind the measured ones, and deliveries that wait for a retry.
    var backlog = 0
    /// Whether a drain ends with the backlog, not with the notifications before it.
    var drainsBacklog = false
    var retries = 0
    /// Requests at once, of `send`; healthy consumers, of `neighbours`.
    var inFlight = 100
    var endpoints = 100
    /// Of `subscribers`.
    var customers = 1_000_000
    /// Of `history` and `crowd`; purchases of `crowd` (256 unless given) and `grown`.
    var facts = 10_000
    var purchases = 5_000_000
    /// Of `soak`.
    var minutes = 10
    var json = false
    /// Whether Postgres counts what each statement costs, which itself costs a little.
    var statements = false
    /// Of `all`: fewer and smaller ones.
    var quick = false

    /// - Parameter program: this program's path; the daemon is expected beside it.
    /// - Returns: nil where help is asked for.
    static func read(_ arguments: [String], program: String) throws(BenchmarkUsageError) -> BenchmarkOptions? {
        if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") { return nil }
        guard let scenario = arguments.first.flatMap(Scenario.init(rawValue:)) else {
            let names = Scenario.allCases.map(\.rawValue).joined(separator: ", ")
            throw BenchmarkUsageError("\"\(arguments[0])\" is no scenario; there are \(names)")
        }
        let folder = program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        var options = BenchmarkOptions(scenario: scenario, entitled: folder.isEmpty ? "entitled" : "\(folder)/entitled")
        options.setDefaults()
        var rest = arguments.dropFirst()
        while let name = rest.popFirst() {
            if name == "--json" {
                options.json = true
                continue
            }
            if name == "--statements" {
                options.statements = true
                continue
            }
            if name == "--quick" {
                options.quick = true
                continue
            }
            guard let value = rest.popFirst() else { throw BenchmarkUsageError("\(name) needs a value") }
            try options.set(name, value)
        }
        return options
    }

    /// What is usual for this scenario.
    private mutating func setDefaults() {
        switch scenario {
        case .history: count = 200
        case .crowd: (purchases, rounds) = (256, 3)
        case .grown: (count, rounds) = (2000, 3)
        case .rivals: (count, rounds) = (300, 3)
        case .tracing: (count, rounds) = (4000, 3)
        case .console: (customers, rounds) = (100_000, 20)
        case .soak: rate = 1000
        default: break
        }
    }

    private mutating func set(_ name: String, _ value: String) throws(BenchmarkUsageError) {
        func number(_ range: ClosedRange<Int>) throws(BenchmarkUsageError) -> Int {
            guard let number = Int(value), range.contains(number) else {
                throw BenchmarkUsageError(
                    "\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
        switch name {
        case "--count": count = try number(1...10_000_000)
        case "--connections": connections = try number(1...1000)
        case "--rounds": rounds = try number(1...1000)
        case "--rate": rate = Double(try number(0...1_000_000))
        case "--backlog": backlog = try number(0...10_000_000)
        case "--retries": retries = try number(0...10_000_000)
        case "--in-flight": inFlight = try number(1...100_000)
        case "--endpoints": endpoints = try number(1...1000)
        case "--customers": customers = try number(1...10_000_000)
        case "--facts": facts = try number(6...1_000_000)
        case "--purchases": purchases = try number(1...20_000_000)
        case "--minutes": minutes = try number(1...100_000)
        case "--hours": minutes = try number(1...1000) * 60
        case "--bodies": bodies = value
        case "--entitled": entitled = value
        default: throw BenchmarkUsageError("unknown option \(name); see --help")
        }
    }

    static var help: String {
        let scenarios = Scenario.allCases.map { scenario in
            "  \(scenario.rawValue)\(String(repeating: " ", count: 12 - scenario.rawValue.count))\(scenario.summary)"
        }
        return """
            usage: Benchmarks SCENARIO [options]

            \(scenarios.joined(separator: "\n"))

              --count N          distinct notifications; of send deliveries in a round (20000); of history those that are
                                 measured (200); of grown and rivals requests of a round (2000, 300)
              --connections N    kept open by the load generator (64)
              --rate N           notifications in a second; 0: as fast as possible (0; soak: 1000)
              --rounds N         of verify, send and neighbours; the median counts (5); of crowd, grown and
                                 rivals (3); console: of each question (20)
              --bodies FILE      keeps the signed requests there, and takes them from there the next time
              --entitled PATH    the daemon (beside this program)
              --backlog N        drain: so many more notifications wait behind the measured ones; waiting, neighbours:
                                 so many deliveries wait (0)
              --retries N        drain: so many deliveries wait for a retry (0)
              --in-flight N      send: requests at once (100)
              --endpoints N      neighbours: healthy consumers (100)
              --customers N      subscribers: so many with a subscription each (1000000); console: so many with fifteen
                                 notifications each (100000, about 6 GB)
              --facts N          history, crowd: of a purchase about which much was said (10000)
              --purchases N      crowd: so many of those (256); grown: so many in all (5000000, with ten facts each,
                                 about 20 GB below /tmp); upgrade: rows in each large table
                                 (5000000, about 10 GB)
              --minutes N, --hours N   soak (10 minutes)
              --statements       ingest, deliver, subscribers: what each statement cost Postgres, in the JSON document
              --quick            all, sender: a few minutes less, with backlogs of a tenth or less
              --json             one JSON document on standard output

            Postgres and all processes are private to a run and end with it. Times of the load generator count too:
            it works on the same cores. Exit status: 0 done, 1 it could not be done, 2 wrong use.
            """
    }
}
