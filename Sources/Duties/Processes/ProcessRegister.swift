import Base
import Daemon
import Database
import Foundation
import Postgres

/// Says every minute in the database that a role of this process is there, and by which configuration it works.
package final class ProcessRegister: Service {
    package let name = "register"

    private let id: [UInt8]
    private let role: String
    private let version: String
    private let configuration: ConfigurationDigest
    private let cleans: Bool
    private let session: PostgresSession
    private let started: Int64
    private let logger: Logger
    private let failures = RepeatedFailure()
    private let loop = Loop("register")

    /// - Parameters:
    ///   - id: of a worker that under which it holds leases.
    ///   - cleans: whether it deletes old rows; the role of a worker may.
    ///   - session: for this alone; its connection is closed between two rows.
    package init(
        _ id: [UInt8], role: String, version: String, configuration: ConfigurationDigest, cleans: Bool,
        session: PostgresSession, clock: any WallClock, logger: Logger
    ) {
        self.id = id
        self.role = role
        self.version = version
        self.configuration = configuration
        self.cleans = cleans
        self.session = session
        self.logger = logger
        started = clock.now()
    }

    package func start() {
        loop.start { [self] loop in
            loop.run {
                add(hasEnded: false)
                return .after(ProcessTable.interval)
            }
            add(hasEnded: true)
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        if !loop.drain(until: min(deadline, .now + .seconds(1))) { session.cut() }
    }

    private func add(hasEnded: Bool) {
        // A connection for a row a minute is not worth a process of the server.
        defer { session.close() }
        do {
            try session.withConnection { connection in
                guard try ProcessTable.isThere(on: connection) else { return }
                try ProcessTable.add(
                    id, role: role, host: ProcessInfo.processInfo.hostName, version: version, started: started,
                    configuration: configuration, hasEnded: hasEnded, on: connection)
                if cleans, !hasEnded { try ProcessTable.deleteOld(on: connection) }
            }
        } catch {
            if error.fault != .away, !loop.isDraining {
                failures.warning("process not registered", error, count: 1, logger)
            }
        }
    }
}
