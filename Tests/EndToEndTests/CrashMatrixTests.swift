import Base
import Daemon
import FoundationEssentials
import StoreSimulator
import TestSupport
import Testing

/// Processes killed at every step of their work, and at any other moment. `deploy/crash` runs this as often as wanted.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct CrashMatrixTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// In all; shared out evenly.
    private static let kills = environment["ENTITLED_CRASH_KILLS"].flatMap { Int($0) } ?? 102
    /// Installations at a time: most of their time is waiting for leases to end.
    private static let atOnce = 9
    /// Deaths of one installation; more would find nothing left to send.
    private static let killsOfCell = 8

    /// Nothing waits for an arrival here, nothing is replayed, fetched, posted, imported or deleted, and the database does not go
    /// back: those points have
    /// tests of their own.
    private static let others: [FailPoint] = [
        .importBeforeCommit, .importAfterCommit, .deliverAfterRelease, .replayBeforeCommit, .replayAfterCommit,
        .historyBeforeCommit, .historyAfterCommit, .returnBeforeCommit, .returnAfterCommit,
        .postBeforeCommit, .postAfterCommit, .lookBeforeCommit, .lookAfterCommit, .deletionAfterCommit,
        .erasureBeforeCommit, .erasureAfterCommit, .changeBeforeCommit, .changeAfterCommit, .bulkBeforeCommit,
        .bulkAfterCommit, .inquiryBeforeCommit, .inquiryAfterCommit,
    ]
    private static let ways: [CrashCell.Death] =
        FailPoint.allCases.filter { !others.contains($0) }.map { .at($0) } + [
            .atRandom(["ingest"]), .atRandom(["worker"]), .atRandom(["ingest", "worker"]),
        ]

    @Test func `whatever is killed, and wherever, nothing is lost and nothing differs`() throws {
        let calm = try CrashCell(.never)
        _ = try calm.run(kills: 0)
        let clean = try calm.record()
        #expect(clean.told.count == CrashCell.notifications.count)

        let work = Monitor(CrashMatrixTests.plan())
        let results = Monitor<[CrashCell.Result]>([])
        let threads = (0..<CrashMatrixTests.atOnce).map { _ in
            TestThread {
                while let (death, kills) = work.change({ $0.popLast() }) {
                    let cell = try CrashCell(death)
                    var result = try cell.run(kills: kills)
                    let record = try cell.record()
                    result.losses += record.losses(against: clean)
                    result.differences += record.differences(from: clean)
                    results.change { $0.append(result) }
                }
            }
        }
        for thread in threads { try thread.value(timeout: .seconds(36_000)) }
        let found = results.read { $0 }
        for result in found {
            #expect(result.losses == [], "\(result.name)")
            #expect(result.differences == [], "\(result.name)")
        }
        #expect(found.map(\.kills).reduce(0, +) >= CrashMatrixTests.kills)
        try CrashMatrixTests.write(found)
    }

    /// Ways to die with how often each, in parts that one installation has enough notifications for.
    private static func plan() -> [(CrashCell.Death, Int)] {
        let each = (kills + ways.count - 1) / ways.count
        return ways.flatMap { way in
            stride(from: 0, to: each, by: killsOfCell).map { (way, min(killsOfCell, each - $0)) }
        }
    }

    /// A table for people, where one is asked for.
    private static func write(_ results: [CrashCell.Result]) throws {
        guard let path = environment["ENTITLED_CRASH_TABLE"] else { return }
        func row(_ cells: [String]) -> String {
            zip(cells, [28, 8, 8, 12]).map { cell, width in
                cell + String(repeating: " ", count: max(1, width - cell.count))
            }.joined()
        }
        var lines = [row(["point", "kills", "losses", "differences"])]
        for way in ways {
            let own = results.filter { $0.name == "\(way)" }
            lines.append(
                row(
                    ["\(way)"]
                        + [own.map(\.kills), own.map(\.losses.count), own.map(\.differences.count)].map {
                            "\($0.reduce(0, +))"
                        }))
        }
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}
