import Base
import Foundation
import Postgres
import TestSupport

/// What traces cost: the same notifications accepted and applied without spans, with one of a hundred traces recorded, and
/// with all, in turns, so that what else the host does meets all three alike.
struct TracingScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests
    let folder: String

    private enum Mode: String, CaseIterable {
        case off, some, all

        func telemetry(_ receiver: OTLPReceiver) -> JSON? {
            switch self {
            case .off: nil
            case .some: .object(["otlp_url": .string(receiver.url), "sample": .double(0.01)])
            case .all: .object(["otlp_url": .string(receiver.url), "sample": .double(1)])
            }
        }
    }

    /// CPU is less disturbed by others than time.
    private struct Cost {
        var accepted: [Double] = []
        var applied: [Double] = []
        var ingestCPU: [Double] = []
        var workerCPU: [Double] = []
        var spans = 0
    }

    func run() throws -> BenchmarkReport {
        var costs: [Mode: Cost] = [:]
        for round in 0..<max(1, options.rounds) {
            // Not always the same one first.
            let modes = Mode.allCases.indices.map { Mode.allCases[($0 + round) % Mode.allCases.count] }
            for mode in modes { try measure(mode, "\(folder)/\(mode.rawValue)\(round)", &costs[mode, default: Cost()]) }
        }
        var report = BenchmarkReport("tracing")
        for mode in Mode.allCases {
            let (cost, off) = (costs[mode] ?? Cost(), costs[.off] ?? Cost())
            let name = mode.rawValue
            report.add("\(name)_accepted_per_second", Self.median(cost.accepted), "1/s")
            report.add("\(name)_applied_per_second", Self.median(cost.applied), "1/s")
            report.add("\(name)_spans", Double(cost.spans), "spans received")
            guard mode != .off else { continue }
            report.add(
                "\(name)_accepting", Self.median(cost.accepted) / Self.median(off.accepted), "of the rate without")
            report.add("\(name)_applying", Self.median(cost.applied) / Self.median(off.applied), "of the rate without")
            report.add(
                "\(name)_ingest_cpu", Self.median(cost.ingestCPU) / Self.median(off.ingestCPU), "of that without")
            report.add(
                "\(name)_worker_cpu", Self.median(cost.workerCPU) / Self.median(off.workerCPU), "of that without")
        }
        return report
    }

    private func measure(_ mode: Mode, _ place: String, _ cost: inout Cost) throws {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let receiver = try OTLPReceiver()
        defer { receiver.stop() }
        let installation = try Installation(
            program: options.entitled, root: requests.root, folder: place, telemetry: mode.telemetry(receiver))
        let ingest = try installation.start("ingest")
        let load = LoadGenerator(requests: requests, address: try ingest.address(), connections: options.connections)
        let before = ingest.usage
        let outcome = try load.run(0..<requests.count)
        let accepted = Double(max(1, outcome.accepted))
        cost.ingestCPU.append((ingest.usage.cpu - before.cpu) / accepted)
        ingest.end()
        cost.accepted.append(accepted / outcome.elapsed.seconds)
        let worker = try installation.start("worker")
        _ = try worker.find("lanes") { $0["message"]?.stringValue == "lanes gained" ? true : nil }
        let started = ContinuousClock.now
        let elapsed = try installation.waitForNone("SELECT count(*) FROM entitled.pending") - started
        cost.workerCPU.append(worker.usage.cpu / accepted)
        worker.end()
        cost.applied.append(accepted / elapsed.seconds)
        cost.spans += receiver.spans.count
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
}
