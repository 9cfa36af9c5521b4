import Base
import Daemon
import Database
import Postgres

/// Counts for charts where a caller wants them, on a thread of its own: it reads what is known of all purchases, which takes
/// seconds where there are many. What was counted serves all charts of the same time and filters until the tables are refreshed.
package final class ChartReader: Service {
    package let name = "console-charts"

    /// What came of a reading.
    enum Outcome: Sendable {
        case reading(ChartReading)
        /// Some purchases have no history yet: the first refresh of this program has not ended.
        case incomplete
        case failed
    }

    private struct State {
        var outcomes: [ChartScope: (outcome: Outcome, ended: ContinuousClock.Instant)] = [:]
        var wanted: [ChartScope] = []
        var underWay: ChartScope?
    }

    /// Scopes of which the numbers are kept, and that wait.
    private static let mostKept = 16
    private static let mostWanted = 8
    /// A failure, and what is incomplete, is tried again.
    private static let retryAfter = Duration.seconds(5)
    /// How long a request waits.
    private static let patience = Duration.seconds(5)

    private static let snapshot = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    private let session: PostgresSession
    private let logger: Logger
    private let room: WaitingRoom
    private let state = Monitor(State())
    private let loop = Loop("console-charts")

    /// - Parameter room: for requests that wait; each keeps a thread.
    package init(session: PostgresSession, logger: Logger, room: WaitingRoom = WaitingRoom(limit: 2)) {
        self.session = session
        self.room = room
        self.logger = logger
    }

    package func start() {
        loop.start { [self] loop in
            loop.run {
                let next = state.change { state -> ChartScope? in
                    guard !state.wanted.isEmpty else { return nil }
                    state.underWay = state.wanted.removeFirst()
                    return state.underWay
                }
                guard let next else { return .whenWoken }
                read(next)
                return .again
            }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        loop.beginDraining()
        session.cancel()
        loop.join(until: deadline) ? session.close() : session.cut()
    }

    private func read(_ scope: ChartScope) {
        var outcome = Outcome.failed
        do {
            let reading = try session.withConnection { connection in
                try connection.transaction(opening: [ChartReader.snapshot]) { _ in
                    try ChartReading.read(scope, on: connection)
                }
            }
            outcome = reading.map(Outcome.reading) ?? .incomplete
        } catch {
            logger.warning("chart not read", ["error": .string("\(error)")])
        }
        // It is used too rarely to keep a connection.
        session.close()
        state.change { [outcome] state in
            state.underWay = nil
            state.outcomes[scope] = (outcome: outcome, ended: ContinuousClock.now)
            while state.outcomes.count > ChartReader.mostKept,
                let oldest = state.outcomes.min(by: { $0.value.ended < $1.value.ended })?.key
            {
                state.outcomes[oldest] = nil
            }
        }
    }

    /// Waits for the numbers for a short time.
    ///
    /// - Throws: `DeskError`, 503, where they are not there yet.
    func reading(_ scope: ChartScope) throws(DeskError) -> ChartReading {
        let isWanted = state.change { state -> Bool in
            if let known = state.outcomes[scope] {
                if case .reading = known.outcome { return true }
                guard .now - known.ended > ChartReader.retryAfter else { return true }
                state.outcomes[scope] = nil
            }
            if state.underWay == scope || state.wanted.contains(scope) { return true }
            guard state.wanted.count < ChartReader.mostWanted else { return false }
            state.wanted.append(scope)
            return true
        }
        guard isWanted else { throw .unavailable("Too many charts are waiting to be computed.") }
        loop.wake()
        let outcome = room.wait { mayWait in
            state.wait(timeout: mayWait ? ChartReader.patience : .zero) { $0.outcomes[scope]?.outcome }
        }
        switch outcome {
        case .reading(let reading)?: return reading
        case .incomplete?: throw ChartReader.incomplete
        case .failed?: throw .unavailable("The chart could not be computed; the log has the reason.")
        case nil: throw .unavailable("The chart is being computed; retry in a few seconds.")
        }
    }

    static let incomplete = DeskError.unavailable(
        "There are no charts yet: the first refresh of the tables of reports by this version has not finished.")
}
