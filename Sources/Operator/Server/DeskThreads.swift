import Base
import Daemon
import HTTP
import Postgres

/// Threads that answer questions, each with a connection of its own.
package final class DeskThreads: Service {
    /// Nil: the request is answered later, by another way.
    package typealias Work = @Sendable (PostgresConnection) throws -> HTTPResponse?

    package let name: String

    private struct Piece: Sendable {
        let added = ContinuousClock.now
        let work: Work
        let failed: @Sendable (any Error) -> HTTPResponse
        let responder: HTTPResponder
    }

    private struct State {
        var waiting: [Piece] = []
        var busy = 0
        var isEnding = false
    }

    private let sessions: [PostgresSession]
    private let waitingLimit: Int
    private let patience: Duration?
    private let busy: DeskError
    private let state = Monitor(State())

    /// - Parameters:
    ///   - name: of the threads, before a number.
    ///   - waitingLimit: pieces of work that wait for a thread at most.
    ///   - patience: how long a piece may wait; nil: as long as its client does.
    ///   - busy: the failure of work that finds no room, or waited longer.
    package init(
        name: String, count: Int, waitingLimit: Int, patience: Duration? = nil, busy: DeskError,
        sessions: () throws -> PostgresSession
    ) rethrows {
        (self.name, self.waitingLimit, self.patience, self.busy) = (name, waitingLimit, patience, busy)
        self.sessions = try (0..<max(1, count)).map { _ in try sessions() }
    }

    package func start() {
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("\(name)-\(number)") { [self] in
                while let piece = take() {
                    perform(piece, session)
                    state.change { $0.busy -= 1 }
                }
            }
        }
    }

    private func perform(_ piece: Piece, _ session: PostgresSession) {
        if let patience, .now - piece.added > patience { return piece.responder.respond(piece.failed(busy)) }
        do {
            if let response = try session.withConnection(piece.work) { piece.responder.respond(response) }
        } catch {
            piece.responder.respond(piece.failed(error))
        }
    }

    /// Answers in turn, on a thread with a connection.
    ///
    /// - Parameter failed: what is answered where the work throws, or the database is away.
    package func run(
        _ responder: HTTPResponder, failed: @escaping @Sendable (any Error) -> HTTPResponse, _ work: @escaping Work
    ) {
        let isAdded = state.change { state in
            guard !state.isEnding, state.waiting.count < waitingLimit else { return false }
            state.waiting.append(Piece(work: work, failed: failed, responder: responder))
            return true
        }
        if !isAdded { responder.respond(failed(busy)) }
    }

    private func take() -> Piece? {
        let taken = state.wait { state -> Piece?? in
            guard state.waiting.isEmpty else {
                state.busy += 1
                return .some(state.waiting.removeFirst())
            }
            return state.isEnding ? .some(nil) : nil
        }
        return taken ?? nil
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        let isDone =
            state.wait(timeout: max(.zero, deadline - .now)) { $0.waiting.isEmpty && $0.busy == 0 ? true : nil }
            ?? false
        for session in sessions { isDone ? session.close() : session.cut() }
    }
}
