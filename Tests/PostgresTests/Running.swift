import Glibc
import Postgres
import Synchronization
import TestSupport

/// Work on a thread of its own, whose error a test waits for.
final class Running: Sendable {
    private enum State {
        case busy
        case done((any Error)?)
    }

    private let state = Mutex(State.busy)

    init(_ body: @escaping @Sendable () throws -> Void) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(
            Work { [self] in
                var failure: (any Error)?
                do { try body() } catch { failure = error }
                state.withLock { $0 = .done(failure) }
            })
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, context.toOpaque())
        pthread_detach(thread)
    }

    /// What the work threw, once it has ended.
    func error() throws -> (any Error)? {
        var outcome: (any Error)?
        try eventually("the thread ends") {
            state.withLock { state in
                guard case .done(let error) = state else { return false }
                outcome = error
                return true
            }
        }
        return outcome
    }

    private final class Work {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }
}

final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .sequentiallyConsistent) }

    func add() {
        number.add(1, ordering: .sequentiallyConsistent)
    }
}

extension TestDatabase {
    /// Waits until so many other connections to this database run a statement that begins so.
    func untilActive(_ statement: String, count: Int64 = 1) throws {
        let connection = try PostgresConnection(PostgresTarget(url: url))
        try eventually("\(statement)… runs") {
            try connection.query(
                """
                SELECT count(*) = $2 FROM pg_stat_activity WHERE datname = current_database()
                AND state = 'active' AND query LIKE $1 || '%'
                """, [.text(statement), .int8(count)]
            ).one().bool(0)
        }
    }
}
