import Base
import Daemon
import Database
import Postgres

/// Reads the overview of REST v2 where a caller wants it, on a thread of its own: it looks at all rows of the reports,
/// which may take minutes. What was read is answered for ten minutes, and while the next one is being read.
final class OverviewReader: Service {
    let name = "api-overview"

    /// What is known.
    enum Reading: Sendable {
        case overview(ReportOverview)
        /// No worker has filled the tables.
        case absent
        /// The first reading is under way, or failed.
        case notYet
    }

    private struct State {
        var reading = Reading.notYet
        var isWanted = false
        /// When the last reading ended; nil: none has.
        var ended: ContinuousClock.Instant?
    }

    private static let age = Duration.seconds(600)
    /// A worker may fill the tables at any time.
    private static let ageOfAbsence = Duration.seconds(5)
    /// How long a caller waits for the first reading.
    private static let patience = Duration.seconds(2)

    private let session: PostgresSession
    private let clock: any WallClock
    private let logger: Logger
    private let state = Monitor(State())
    private let loop = Loop("api-overview")

    init(session: PostgresSession, clock: any WallClock, logger: Logger) {
        self.session = session
        self.clock = clock
        self.logger = logger
    }

    func start() {
        loop.start { [self] loop in
            loop.run {
                if state.change({ state in
                    defer { state.isWanted = false }
                    return state.isWanted
                }) {
                    read()
                }
                return .whenWoken
            }
        }
    }

    func drain(until deadline: ContinuousClock.Instant) {
        loop.beginDraining()
        session.cancel()
        loop.join(until: deadline) ? session.close() : session.cut()
    }

    /// The last reading, and the next one where that is old. Waits for the first one for a short time.
    func reading() -> Reading {
        let now = ContinuousClock.now
        let (last, isOld) = state.read { state -> (Reading, Bool) in
            let age = if case .overview = state.reading { OverviewReader.age } else { OverviewReader.ageOfAbsence }
            return (state.reading, state.ended.map { now - $0 > age } ?? true)
        }
        if isOld {
            state.change { $0.isWanted = true }
            loop.wake()
        }
        if case .overview = last { return last }
        guard isOld else { return last }
        return state.wait(timeout: OverviewReader.patience) { state in
            state.ended.map { $0 > now } ?? false ? state.reading : nil
        } ?? last
    }

    private func read() {
        var reading: Reading?
        do {
            let overview = try session.withConnection { try ReportOverview.read(now: clock.now(), on: $0) }
            reading = overview.map(Reading.overview) ?? .absent
        } catch {
            logger.warning("overview not read", ["error": .string("\(error)")])
        }
        // It is used too rarely to keep a connection.
        session.close()
        state.change { [reading] state in
            state.reading = reading ?? state.reading
            state.ended = .now
        }
    }
}
