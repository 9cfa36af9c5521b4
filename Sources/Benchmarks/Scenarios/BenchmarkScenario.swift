import TestSupport

/// What one installation measures, alone or as a part of a whole measurement.
enum BenchmarkScenario {
    case verify, ingest, deliver, drain, send, waiting, neighbours, subscribers, history, crowd, grown, upgrade,
        tracing,
        console, cluster, rivals

    /// Runs the scenario in a folder of its own, which goes at the end.
    func run(_ options: BenchmarkOptions) throws -> BenchmarkReport {
        try TemporaryFolder.with { folder in
            // What is written into the database needs no requests, only a root that daemons trust.
            func requests(_ count: Int = 1) throws -> PresignedRequests {
                try PresignedRequests.prepare(count, file: options.bodies ?? "\(folder)/requests") {
                    BenchmarksProgram.note($0)
                }
            }
            switch self {
            case .verify: return try VerifyScenario(options: options, requests: requests(options.count)).run()
            case .ingest:
                return try IngestScenario(options: options, requests: requests(options.count), folder: folder).run()
            case .deliver:
                return try DeliverScenario(options: options, requests: requests(options.count), folder: folder).run()
            case .drain:
                return try DrainScenario(options: options, requests: requests(options.count), folder: folder).run()
            case .tracing:
                return try TracingScenario(options: options, requests: requests(options.count), folder: folder).run()
            case .neighbours:
                return try NeighbourScenario(options: options, requests: requests(options.count), folder: folder).run()
            case .send: return try SendScenario(options: options, root: requests().root, folder: folder).run()
            case .waiting: return try WaitingScenario(options: options, root: requests().root, folder: folder).run()
            case .subscribers:
                return try SubscriberScenario(options: options, root: requests().root, folder: folder).run()
            case .history: return try HistoryScenario(options: options, folder: folder).run()
            case .crowd: return try CrowdScenario(options: options, folder: folder).run()
            case .grown: return try GrownScenario(options: options, folder: folder).run()
            case .rivals: return try RivalScenario(options: options, folder: folder).run()
            case .console: return try ConsoleScenario(options: options, folder: folder).run()
            case .cluster: return try ClusterScenario(options: options, requests: requests(options.count)).run()
            case .upgrade: return try UpgradeScenario(options: options).run()
            }
        }
    }
}
