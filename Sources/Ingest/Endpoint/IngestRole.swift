import AppStore
import Base
import Daemon
import Database
import HTTP
import Postgres

/// What works behind the listener of Apple's endpoint; the program and the tests make it the same way.
package struct IngestRole: Sendable {
    package let handler: IngestHandler
    private let committer: NotificationCommitter
    private let probe: DatabaseProbe
    /// Longer than the statement timeout of the role.
    private static let longestStatement = Duration.seconds(6)

    /// - Parameters:
    ///   - apps: those whose notifications are admitted.
    ///   - verifier: what decides about what Apple signed.
    ///   - commitTimeout: how long a notification may wait to be stored.
    ///   - grouping: which lanes lie together.
    ///   - sequence: makes a generator with a new node.
    package init(
        apps: AppRegistry, _ process: ProcessContext, verifier: SignedDataVerifier,
        commitTimeout: Duration = .seconds(8), grouping: LaneGrouping = LaneGrouping(),
        sequence: @escaping @Sendable () -> SequenceGenerator = {
            SequenceGenerator(clock: SystemClock(), node: .random(in: 0...UInt16.max))
        }
    ) throws {
        for answer in ["accepted", "duplicate", "503", "unavailable"] {
            process.metrics.begin(.ingestAnswers, ["answer": answer])
        }
        process.metrics.beginHistogram(.ingestCommitSeconds)
        let session = try process.session(patience: IngestRole.patience(commitTimeout, grouping)) { connection in
            try NotificationWriter.bound(connection, within: commitTimeout)
        }
        committer = NotificationCommitter(
            timeout: commitTimeout, session: { session }, sequence: sequence, grouping: grouping, clock: process.clock,
            logger: process.logger, metrics: process.metrics)
        probe = DatabaseProbe(name: "ingest-probe", session: try process.session(patience: DatabaseProbe.patience))
        handler = IngestHandler(
            apps: apps, verifier: verifier, committer: committer, dictionaries: HeaderDictionaries(),
            logger: process.logger, metrics: process.metrics, tracer: process.tracer)
    }

    /// The coordinator of a cluster that cancels a statement waits for the server to say so, which one that hangs does not: then the
    /// connection has to go, or notifications for the other servers wait with it.
    private static func patience(_ commitTimeout: Duration, _ grouping: LaneGrouping) -> Duration {
        grouping.known?.isOne ?? true
            ? max(commitTimeout, longestStatement)
            : NotificationWriter.longestStatement(within: commitTimeout) + .seconds(1)
    }

    /// In the order in which they drain, once the listener has.
    package var services: [any Service] { [committer, probe] }

    package func unreadyReasons() -> [String] {
        committer.isReady ? probe.obstacle.map { [$0] } ?? [] : ["the database is unavailable"]
    }
}
