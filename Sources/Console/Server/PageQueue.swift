import Base
import Daemon
import Postgres

/// Threads with a connection each, and what waits for them.
final class PageQueue: Sendable {
    private struct Piece: Sendable {
        let added: ContinuousClock.Instant
        let work: @Sendable (PostgresSession?) -> Void
    }

    private struct State {
        var waiting: [Piece] = []
        var busy = 0
        var isEnding = false
    }

    private let name: String
    private let sessions: [PostgresSession]
    /// Pieces that wait at most.
    private let limit: Int
    /// How long a piece may wait before it is told that there is no thread.
    private let patience: Duration
    private let state = Monitor(State())

    init(_ name: String, threads: Int, limit: Int, patience: Duration, sessions: () throws -> PostgresSession) rethrows {
        self.name = name
        self.limit = limit
        self.patience = patience
        self.sessions = try (0..<threads).map { _ in try sessions() }
    }

    func start() {
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("\(name)-\(number)") { [self] in
                while let piece = take() {
                    piece.work(.now - piece.added > patience ? nil : session)
                    state.change { $0.busy -= 1 }
                }
            }
        }
    }

    /// False where there is no room.
    ///
    /// - Parameter work: gets nil where it waited too long.
    func add(_ work: @escaping @Sendable (PostgresSession?) -> Void) -> Bool {
        state.change { state in
            guard !state.isEnding, state.waiting.count < limit else { return false }
            state.waiting.append(Piece(added: .now, work: work))
            return true
        }
    }

    private func take() -> Piece? {
        let taken = state.wait { state -> Piece?? in
            if !state.waiting.isEmpty {
                state.busy += 1
                return .some(state.waiting.removeFirst())
            }
            return state.isEnding ? .some(nil) : nil
        }
        return taken ?? nil
    }

    func end(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        let isDone = state.wait(timeout: max(.zero, deadline - .now)) { $0.waiting.isEmpty && $0.busy == 0 ? true : nil }
        for session in sessions { isDone == true ? session.close() : session.cut() }
    }
}
