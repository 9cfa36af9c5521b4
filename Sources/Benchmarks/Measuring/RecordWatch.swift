import Base
import Daemon
import Database
import Glibc
import Postgres
import StoreSimulator

/// When purchases become records: looks for those that are awaited, again and again, by a thread and a connection of its
/// own.
final class RecordWatch: Sendable {
    private struct State {
        var awaited: [String: ContinuousClock.Instant] = [:]
        var latencies = LatencyHistogram()
        var isEnding = false
        var failure: (any Error)?
    }

    private static let select = """
        SELECT p.original_transaction_id FROM unnest($1::int2[], $2::text[]) AS t(lane, otid)
        JOIN entitled.purchase p ON p.lane = t.lane AND p.original_transaction_id = t.otid
        """
    /// In µs; so much later than it is there a record may be seen.
    private static let pause: UInt32 = 5_000

    private let state = Monitor(State())
    private let thread: ServiceThread

    init(_ installation: Installation) {
        let (state, target) = (state, installation.target)
        thread = ServiceThread("records") {
            do {
                let connection = try PostgresConnection(target)
                while try RecordWatch.look(state, connection) { usleep(RecordWatch.pause) }
            } catch {
                state.change { $0.failure = error }
            }
        }
    }

    /// - Parameters:
    ///   - purchase: the `originalTransactionId` of one that has no record yet.
    ///   - since: what its time is counted from.
    func await(_ purchase: String, since: ContinuousClock.Instant) {
        state.change { $0.awaited[purchase] = since }
    }

    /// How long it took since the last call, of those that are there.
    func takeLatencies() -> LatencyHistogram {
        state.change { state in
            defer { state.latencies = LatencyHistogram() }
            return state.latencies
        }
    }

    /// Waits for those that are awaited.
    ///
    /// - Returns: those that did not come.
    func finish(within timeout: Duration) throws -> Int {
        _ = state.wait(timeout: timeout) { $0.awaited.isEmpty || $0.failure != nil ? true : nil }
        state.change { $0.isEnding = true }
        thread.join()
        if let failure = state.read({ $0.failure }) { throw failure }
        return state.read { $0.awaited.count }
    }

    private static func look(_ state: Monitor<State>, _ connection: PostgresConnection) throws -> Bool {
        let awaited = state.read { $0.isEnding ? nil : Array($0.awaited.keys) }
        guard let awaited else { return false }
        guard !awaited.isEmpty else { return true }
        let lanes = awaited.map { Lane(app: "demo", environment: .sandbox, subject: $0).number }
        let found = try connection.query(select, [.int2s(lanes), .texts(awaited)]).map {
            try $0.text("original_transaction_id")
        }
        let now = ContinuousClock.now
        state.change { state in
            for purchase in found {
                if let since = state.awaited.removeValue(forKey: purchase) { state.latencies.add(now - since) }
            }
        }
        return true
    }
}
