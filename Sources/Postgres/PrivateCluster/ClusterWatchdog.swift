import Base
import Daemon

/// Keeps the server of a private cluster running for as long as a process lives: starts it again when it has ended by
/// itself, as when the system had no memory or its disk was full, and passes its log on.
package final class ClusterWatchdog: Sendable {
    private static let lookInterval = Duration.milliseconds(500)
    private static let logInterval = Duration.milliseconds(250)
    /// Between starts that fail: at first this time, then twice as long each time.
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(8)

    package let cluster: PrivateCluster
    private let logger: Logger
    private let onRestart: @Sendable () -> Void
    private let watching = Loop("private-watch")
    private let logLoop = Loop("private-log")

    /// - Parameter onRestart: called after each start of a server that had ended by itself.
    package init(_ cluster: PrivateCluster, logger: Logger, onRestart: @escaping @Sendable () -> Void = {}) {
        self.cluster = cluster
        self.logger = logger
        self.onRestart = onRestart
    }

    /// Starts the cluster, and watches it from then on. A server whose start takes longer than that of a process may is
    /// left running, so that the next process adopts it.
    package func start() throws(PrivateClusterError) {
        // Before the server is started, so that nothing that it writes is missed.
        let begin = ClusterLog.size(cluster.folder.log)
        logLoop.start { [self] loop in
            var log = ClusterLog(cluster.folder.log, from: begin, cluster.account, logger)
            loop.run {
                log.pass()
                return .after(ClusterWatchdog.logInterval)
            }
            log.pass()
        }
        do throws(PrivateClusterError) {
            try cluster.start()
        } catch {
            logLoop.drain(until: .now + .seconds(1))
            throw error
        }
        watching.start { [self] loop in
            var attempts = Attempts()
            loop.run { look(&attempts) }
        }
    }

    /// Starts that failed since the server ended.
    private struct Attempts {
        let failures = RepeatedFailure()
        var pause: Duration?
    }

    private func look(_ attempts: inout Attempts) -> Next {
        if attempts.pause == nil {
            guard cluster.hasEnded else { return .after(ClusterWatchdog.lookInterval) }
            logger.error("private database ended unexpectedly", ["folder": .string(cluster.folder.home)])
        }
        do throws(PrivateClusterError) {
            try cluster.startAgain()
            attempts.pause = nil
            onRestart()
            return .after(ClusterWatchdog.lookInterval)
        } catch {
            attempts.failures.warning("private database start failed", error, count: 1, logger)
            let pause = attempts.pause.map { min($0 * 2, ClusterWatchdog.longestPause) } ?? ClusterWatchdog.firstPause
            attempts.pause = pause
            return .after(pause)
        }
    }

    /// Stops watching and the server; what it writes in the end is passed on.
    package func stop(timeout: Duration) throws(PrivateClusterError) {
        // A start under way is waited for, because its server would be left behind.
        watching.drain(until: .now + timeout)
        defer { logLoop.drain(until: .now + .seconds(1)) }
        try cluster.stop(.fast, timeout: timeout)
    }
}
