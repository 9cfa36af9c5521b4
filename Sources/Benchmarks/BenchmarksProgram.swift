import Base
import FoundationEssentials
import Glibc
import TestSupport

/// The command line of the benchmarks.
enum BenchmarksProgram {
    /// The exit status: 0 done, 1 it could not be done, 2 wrong use.
    static func run(_ arguments: [String]) -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        do {
            guard let options = try BenchmarkOptions.read(arguments, program: programPath) else {
                write(BenchmarkOptions.help + "\n", to: 1)
                return 0
            }
            if options.scenario == .soak {
                return try TemporaryFolder.with { folder in try Soak(options: options, folder: folder).run() } ? 0 : 1
            }
            if [.all, .sender].contains(options.scenario) {
                let table = try TemporaryFolder.with { folder in
                    options.scenario == .all
                        ? try WholeMeasurement(options, folder: folder).run()
                        : try SenderMeasurement(options, folder: folder).run()
                }
                write((options.json ? table.json.text : table.text) + "\n", to: 1)
            } else {
                let report = try measure(options)
                write((options.json ? report.json.text : report.text) + "\n", to: 1)
            }
            return 0
        } catch let error as BenchmarkUsageError {
            write("Benchmarks: \(error)\n", to: 2)
            return 2
        } catch {
            write("Benchmarks: \(error)\n", to: 2)
            return 1
        }
    }

    private static var programPath: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    static func measure(_ options: BenchmarkOptions) throws -> BenchmarkReport {
        try TemporaryFolder.with { folder in
            switch options.scenario {
            case .history: return try HistoryScenario(options: options, folder: folder).run()
            case .crowd: return try CrowdScenario(options: options, folder: folder).run()
            case .grown: return try GrownScenario(options: options, folder: folder).run()
            case .rivals: return try RivalScenario(options: options, folder: folder).run()
            case .console: return try ConsoleScenario(options: options, folder: folder).run()
            case .upgrade: return try UpgradeScenario(options: options).run()
            default: break
            }
            let file = options.bodies ?? "\(folder)/requests"
            // What is written into the database needs no requests, only a root that daemons trust.
            let isPosted = ![.send, .waiting, .subscribers].contains(options.scenario)
            let requests = try PresignedRequests.prepare(isPosted ? options.count : 1, file: file) { note($0) }
            switch options.scenario {
            case .verify: return try VerifyScenario(options: options, requests: requests).run()
            case .ingest: return try IngestScenario(options: options, requests: requests, folder: folder).run()
            case .deliver: return try DeliverScenario(options: options, requests: requests, folder: folder).run()
            case .drain: return try DrainScenario(options: options, requests: requests, folder: folder).run()
            case .tracing: return try TracingScenario(options: options, requests: requests, folder: folder).run()
            case .send: return try SendScenario(options: options, root: requests.root, folder: folder).run()
            case .waiting: return try WaitingScenario(options: options, root: requests.root, folder: folder).run()
            case .subscribers:
                return try SubscriberScenario(options: options, root: requests.root, folder: folder).run()
            case .neighbours:
                return try NeighbourScenario(options: options, requests: requests, folder: folder).run()
            case .history, .crowd, .grown, .rivals, .upgrade, .console, .all, .sender, .soak:
                throw BenchmarkUsageError("not a single scenario")
            }
        }
    }

    /// What a person may want to know meanwhile, on standard error.
    static func note(_ text: String) {
        write("\(text)\n", to: 2)
    }

    static func write(_ text: String, to file: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
