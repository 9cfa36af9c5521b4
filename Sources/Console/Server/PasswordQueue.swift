import Base
import Daemon
import HTTP
import Operator
import Postgres

/// Threads that check passwords: two at a time, since each check takes 32 MiB and a core. What waits longer than 5 s is told
/// so, and so is what finds no room.
final class PasswordQueue: Sendable {
    private struct Piece: Sendable {
        let added = ContinuousClock.now
        let responder: HTTPResponder
        let failed: @Sendable (any Error) -> HTTPResponse
        let work: DeskThreads.Work
    }

    private struct State {
        var waiting: [Piece] = []
        var busy = 0
        var isEnding = false
    }

    private static let threads = 2
    private static let limit = 32
    private static let patience = Duration.seconds(5)
    private static let busy = DeskError.unavailable("Too many log-ins are waiting.")

    private let sessions: [PostgresSession]
    private let state = Monitor(State())

    init(sessions: () throws -> PostgresSession) rethrows {
        self.sessions = try (0..<PasswordQueue.threads).map { _ in try sessions() }
    }

    func start() {
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("console-password-\(number)") { [self] in
                while let piece = take() {
                    perform(piece, session)
                    state.change { $0.busy -= 1 }
                }
            }
        }
    }

    private func perform(_ piece: Piece, _ session: PostgresSession) {
        guard .now - piece.added <= PasswordQueue.patience else {
            return piece.responder.respond(piece.failed(PasswordQueue.busy))
        }
        do {
            piece.responder.respond(try session.withConnection(piece.work))
        } catch {
            piece.responder.respond(piece.failed(error))
        }
    }

    /// - Parameter failed: what is answered where the work throws, or there is no room.
    func run(
        _ responder: HTTPResponder, failed: @escaping @Sendable (any Error) -> HTTPResponse,
        _ work: @escaping DeskThreads.Work
    ) {
        let isAdded = state.change { state in
            guard !state.isEnding, state.waiting.count < PasswordQueue.limit else { return false }
            state.waiting.append(Piece(responder: responder, failed: failed, work: work))
            return true
        }
        if !isAdded { responder.respond(failed(PasswordQueue.busy)) }
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

    func end(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        let isDone = state.wait(timeout: max(.zero, deadline - .now)) {
            $0.waiting.isEmpty && $0.busy == 0 ? true : nil
        }
        for session in sessions { isDone == true ? session.close() : session.cut() }
    }
}
