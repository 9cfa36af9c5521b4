import Base
import Daemon
import HTTP
import Postgres

/// Threads that answer questions, each with a connection of its own.
package final class DeskThreads: Service {
    package typealias Work = @Sendable (PostgresConnection) throws -> HTTPResponse

    package let name = "console-threads"

    private struct Piece: Sendable {
        let work: Work
        let failed: @Sendable (any Error) -> HTTPResponse
        let responder: HTTPResponder
    }

    private struct State {
        var waiting: [Piece] = []
        var busy = 0
        var isEnding = false
    }

    /// Questions that wait for a thread at most; beyond, 503.
    private static let waitingLimit = 256

    private let sessions: [PostgresSession]
    private let state = Monitor(State())

    package init(count: Int, sessions: () throws -> PostgresSession) rethrows {
        self.sessions = try (0..<max(1, count)).map { _ in try sessions() }
    }

    package func start() {
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("console-\(number)") { [self] in
                while let piece = take() {
                    do {
                        piece.responder.respond(try session.withConnection(piece.work))
                    } catch {
                        piece.responder.respond(piece.failed(error))
                    }
                    state.change { $0.busy -= 1 }
                }
            }
        }
    }

    /// Answers in turn, on a thread with a connection.
    ///
    /// - Parameter failed: what is answered where the work throws, or the database is away.
    package func run(
        _ responder: HTTPResponder, failed: @escaping @Sendable (any Error) -> HTTPResponse, _ work: @escaping Work
    ) {
        let isAdded = state.change { state in
            guard !state.isEnding, state.waiting.count < DeskThreads.waitingLimit else { return false }
            state.waiting.append(Piece(work: work, failed: failed, responder: responder))
            return true
        }
        if !isAdded { responder.respond(failed(DeskError.unavailable("Too many questions are waiting."))) }
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
