import Base
import Daemon
import Database
import Postgres

/// Reads the overview of REST v2 where a caller wants it, on a thread of its own: it looks at all rows of the reports,
/// which may take minutes. What was read is answered for ten minutes, and while the next reading is under way.
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
        var isUnderWay = false
        /// Callers that wait for the first reading.
        var waiting = 0
        /// When the last reading ended; nil: none has.
        var ended: ContinuousClock.Instant?
        /// When the next one is due.
        var due = ContinuousClock.now
    }

    private static let age = Duration.seconds(600)
    /// After a failure, and while the tables are empty, which may change at any time.
    private static let retryAfter = Duration.seconds(5)
    /// How long a caller waits for the first reading; one at a time, because it keeps a thread of the listener.
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
                let isWanted = state.change { state in
                    state.isUnderWay = state.isWanted && state.due <= .now
                    state.isWanted = false
                    return state.isUnderWay
                }
                if isWanted { read() }
                return .whenWoken
            }
        }
    }

    func drain(until deadline: ContinuousClock.Instant) {
        loop.beginDraining()
        session.cancel()
        loop.join(until: deadline) ? session.close() : session.cut()
    }

    /// The last reading; the next one begins where it is due. Waits for the first one for a short time.
    func reading() -> Reading {
        let now = ContinuousClock.now
        let (last, waits) = state.change { state -> (Reading, Bool) in
            if state.due <= now, !state.isUnderWay { state.isWanted = true }
            if case .overview = state.reading { return (state.reading, false) }
            guard state.isWanted || state.isUnderWay, state.waiting == 0 else { return (state.reading, false) }
            state.waiting += 1
            return (state.reading, true)
        }
        loop.wake()
        guard waits else { return last }
        defer { state.change { $0.waiting -= 1 } }
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
            state.isUnderWay = false
            state.ended = .now
            let isKnown = if case .overview = reading { true } else { false }
            state.due = .now + (isKnown ? OverviewReader.age : OverviewReader.retryAfter)
        }
    }
}
