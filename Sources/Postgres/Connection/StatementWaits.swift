import CLibpq
import Daemon
import Glibc
import Synchronization

/// Tells what a statement waits for that takes long: the person at a command would else look at a terminal that stands still, since
/// no time limit ends a commit that waits for a synchronous standby, or an index that waits for older transactions.
///
/// Watches all connections that this process opens after `begin`. Not for processes that serve: they have `SessionWatch`.
package final class StatementWaits: Sendable {
    private struct Watched {
        weak var canceller: PostgresCanceller?
        let target: PostgresTarget
        /// The server's process, as `pg_stat_activity` names it.
        let backend: Int32
        var told: (reason: String, at: ContinuousClock.Instant)?
        /// When the server was asked last.
        var asked: ContinuousClock.Instant?
    }

    private static let patience = Duration.seconds(5)
    /// After so long the same is told again.
    private static let repetition = Duration.seconds(60)
    private static let current = Mutex<StatementWaits?>(nil)

    private let watched = Mutex<[Watched]>([])
    private let isWatching = Atomic(false)
    private let tell: @Sendable (String) -> Void

    private init(_ tell: @escaping @Sendable (String) -> Void) {
        self.tell = tell
    }

    /// - Parameter tell: gets lines for a person, on a thread of its own.
    package static func begin(_ tell: @escaping @Sendable (String) -> Void) {
        let waits = StatementWaits(tell)
        current.withLock { $0 = waits }
    }

    /// Commands that open no connection need no thread.
    private func watch() {
        guard !isWatching.exchange(true, ordering: .relaxed) else { return }
        let never = Monitor(false)
        // A command that ends in order blocks its signals later, and waits for them: none may come to this thread.
        var (all, former) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &former)
        _ = ServiceThread("statement-waits") { [self] in
            while never.wait(timeout: .seconds(1), for: { $0 ? true : nil }) == nil { look() }
        }
        pthread_sigmask(SIG_SETMASK, &former, nil)
    }

    static func follow(_ connection: PostgresConnection, _ target: PostgresTarget) {
        guard let waits = current.withLock({ $0 }) else { return }
        let one = Watched(
            canceller: connection.canceller, target: target, backend: PQbackendPID(connection.handle))
        waits.watched.withLock { watched in
            watched.removeAll { $0.canceller == nil || $0.canceller === connection.canceller }
            watched.append(one)
        }
        waits.watch()
    }

    private func look() {
        for one in watched.withLock({ $0 }) {
            guard let canceller = one.canceller, canceller.isBusy(longerThan: StatementWaits.patience),
                one.asked.map({ .now - $0 >= StatementWaits.patience }) ?? true
            else { continue }
            change(canceller) { $0.asked = .now }
            guard let reason = StatementWaits.reason(one.target, one.backend) else { continue }
            if let told = one.told, told.reason == reason, .now - told.at < StatementWaits.repetition { continue }
            // Not what ended while the server was asked.
            guard canceller.isBusy(longerThan: StatementWaits.patience) else { continue }
            change(canceller) { $0.told = (reason, .now) }
            tell(reason)
        }
    }

    private func change(_ canceller: PostgresCanceller, _ body: (inout Watched) -> Void) {
        watched.withLock { watched in
            guard let place = watched.firstIndex(where: { $0.canceller === canceller }) else { return }
            body(&watched[place])
        }
    }

    // MARK: - Reasons

    /// Only the login role sees what its sessions wait for. Names of wait events are in another case since Postgres 17.
    private static let select = """
        SELECT lower(coalesce(wait_event_type, '')) AS type, lower(coalesce(wait_event, '')) AS event,
            (SELECT string_agg(coalesce(nullif(b.application_name, ''), 'a session') || ' (process ' || b.pid || ')', ', ')
                FROM pg_stat_activity b WHERE b.pid = ANY (pg_blocking_pids(a.pid))) AS holders
        FROM pg_stat_activity a WHERE pid = $1 AND state = 'active'
        """

    /// Nil: it is at work, or has ended.
    private static func reason(_ target: PostgresTarget, _ backend: Int32) -> String? {
        do {
            let connection = try PostgresConnection(target.forWaits(), isWatched: false)
            guard let row = try connection.query(select, [.int4(backend)]).first else { return nil }
            return text(
                type: try row.text("type"), event: try row.text("event"), holders: try row.optionalText("holders"))
        } catch {
            // The statement may be at work, and the server may only let no other connection in.
            return "a statement takes long, and the database does not tell why: \(error)"
        }
    }

    static func text(type: String, event: String, holders: String?) -> String? {
        switch (type, event) {
        case (_, "syncrep"):
            "waiting for a synchronous standby of Postgres, which has not confirmed a commit; it goes on when one does"
        case (_, "walsync"), (_, "walwrite"): "waiting for the disk of Postgres' log"
        case ("lock", _):
            holders.map { "waiting for a lock or the end of a transaction of \($0)" } ?? "waiting for a lock"
        default: nil
        }
    }
}
