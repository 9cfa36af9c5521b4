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

    /// - Parameters:
    ///   - apps: those whose notifications are admitted.
    ///   - verifier: what decides about what Apple signed.
    ///   - sequence: makes a generator with a new node.
    package init(
        apps: AppRegistry, _ process: ProcessContext, verifier: SignedDataVerifier,
        sequence: @escaping @Sendable () -> SequenceGenerator = {
            SequenceGenerator(clock: SystemClock(), node: .random(in: 0...UInt16.max))
        }
    ) throws {
        let session = try process.session()
        committer = NotificationCommitter(
            session: { session }, sequence: sequence, clock: process.clock, logger: process.logger,
            metrics: process.metrics)
        handler = IngestHandler(
            apps: apps, verifier: verifier, committer: committer, dictionaries: HeaderDictionaries(),
            logger: process.logger, metrics: process.metrics)
    }

    /// In the order in which they drain, once the listener has.
    package var services: [any Service] { [committer] }

    package func unreadyReasons() -> [String] { committer.isReady ? [] : ["the database is unavailable"] }
}
