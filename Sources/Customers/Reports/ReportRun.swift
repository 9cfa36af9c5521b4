import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Reads all purchases once and counts them: lane by lane, by some threads with a connection each, in one snapshot.
package struct ReportRun: Sendable {
    private let question: ReportQuestion
    private let foldSettings: FoldSettings
    private let threads: Int
    private let pageSize: Int

    /// - Parameters:
    ///   - foldSettings: what the configuration adds to facts.
    ///   - pageSize: facts that a thread reads at once.
    package init(_ question: ReportQuestion, foldSettings: FoldSettings, threads: Int, pageSize: Int = 2000) {
        self.question = question
        self.foldSettings = foldSettings
        self.threads = max(1, threads)
        self.pageSize = pageSize
    }

    private static let snapshot = """
        SELECT pg_export_snapshot() AS snapshot, (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms
        """
    private static let snapshotTime = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms"
    private static let isolation = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    fileprivate struct State {
        var nextLane = 0
        var lanesDone = 0
        var purchases: Int64 = 0
        /// Threads that see the snapshot.
        var begun = 0
        var ended = 0
        var tallies: [ReportTally] = []
        var failure: (any Error)?
    }

    /// - Parameters:
    ///   - connect: a connection for a thread of its own.
    ///   - calendar: of the database's time, in ms since 1970.
    ///   - progress: a share of 1, and how many purchases were read.
    package func run(
        connect: @escaping @Sendable () throws -> PostgresConnection, calendar: (Int64) throws -> ReportCalendar,
        progress: (Double, Int64) -> Void
    ) throws -> Report {
        let state = Monitor(State())
        let lead = try connect()
        // The connection that exports a snapshot keeps it until the others have it.
        let tally = try lead.transaction(opening: [ReportRun.isolation]) { _ in
            let row = try lead.query(ReportRun.snapshot).one()
            let (name, calendar) = (try row.text("snapshot"), try calendar(try row.int("now_ms")))
            let tally = ReportTally(calendar, foldSettings: foldSettings)
            for number in 0..<threads {
                _ = ServiceThread("report \(number)") { work(tally, name, connect, state) }
            }
            _ = state.wait { $0.begun == threads || $0.failure != nil ? true : nil }
            return tally
        }
        while state.wait(timeout: .milliseconds(250), for: { $0.ended == threads ? true : nil }) == nil {
            let (lanes, purchases) = state.read { ($0.lanesDone, $0.purchases) }
            progress(Double(lanes) / Double(Lane.count), purchases)
        }
        return try state.read { state in
            if let failure = state.failure { throw failure }
            var whole = tally
            for part in state.tallies { whole.add(part) }
            return Report(whole, question)
        }
    }

    /// The same by the calling thread alone.
    ///
    /// - Parameter isDraining: whether the process ends: nothing comes of it then.
    /// - Returns: nil where it was not counted to the end.
    package func run(
        on connection: PostgresConnection, calendar: (Int64) throws -> ReportCalendar, isDraining: () -> Bool
    ) throws -> Report? {
        try connection.transaction(opening: [ReportRun.isolation]) { _ in
            let now = try connection.query(ReportRun.snapshotTime).one().int("now_ms")
            var tally = ReportTally(try calendar(now), foldSettings: foldSettings)
            let state = Monitor(State())
            for lane in Lane.all {
                guard !isDraining() else { return nil }
                try count(lane, into: &tally, on: connection, state)
            }
            return Report(tally, question)
        }
    }

    private func work(
        _ empty: ReportTally, _ snapshot: String, _ connect: () throws -> PostgresConnection, _ state: Monitor<State>
    ) {
        do {
            let connection = try connect()
            let shared = PostgresStatement("SET TRANSACTION SNAPSHOT '\(snapshot)'")
            let tally = try connection.transaction(opening: [ReportRun.isolation, shared]) { _ in
                state.change { $0.begun += 1 }
                var tally = empty
                while let lane = state.change({ $0.takeLane() }) {
                    try count(lane, into: &tally, on: connection, state)
                }
                return tally
            }
            state.change {
                $0.tallies.append(tally)
                $0.end()
            }
        } catch {
            state.change {
                $0.failure = $0.failure ?? error
                $0.end()
            }
        }
    }

    private func count(
        _ lane: Lane, into tally: inout ReportTally, on connection: PostgresConnection, _ state: Monitor<State>
    ) throws {
        var stream = FactStream(
            lane: lane, app: question.app, environment: question.environment, pageSize: pageSize)
        while let page = try stream.next(on: connection) {
            for (key, facts) in page {
                guard let purchase = Purchase(folding: facts, key: key, foldSettings: foldSettings) else { continue }
                tally.add(purchase, facts)
            }
            state.change { $0.purchases += Int64(page.count) }
        }
        state.change { $0.lanesDone += 1 }
    }
}

extension ReportRun.State {
    /// Nothing more once one thread has failed.
    fileprivate mutating func takeLane() -> Lane? {
        guard failure == nil, nextLane < Lane.count else { return nil }
        defer { nextLane += 1 }
        return Lane(number: Int16(clamping: nextLane))
    }

    fileprivate mutating func end() { ended += 1 }
}
