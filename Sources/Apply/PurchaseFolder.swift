import Base
import Lifecycle
import Postgres
import Queue
import Records
import Subscriptions
import Telemetry

/// Folds purchases with many facts by a thread and a connection of its own, so that no lane waits for another one's history:
/// those that a turn asks for at once, and at leisure those that another version of the program folded. Looks over what is
/// kept, one purchase after the other, and mends it.
final class PurchaseFolder: Sendable {
    private struct State {
        var wanted: Set<PurchaseKey> = []
        /// Why purchases could not be folded, for reasons that lie in their facts.
        var faults: [PurchaseKey: (reason: String, until: ContinuousClock.Instant)] = [:]
        var isDone = false
    }

    private let state = Monitor(State())
    private let session: PostgresSession
    private let logger: Logger
    private let metrics: Metrics
    private let failure = RepeatedFailure()

    /// How long after one look at what is kept the next one follows.
    private static let pace = Duration.seconds(10)
    /// Rows that are read at once.
    private static let page = 2000
    /// How long notifications of a purchase that cannot be folded are held without another attempt.
    private static let faultTime = Duration.seconds(30)
    private static let slow = Duration.seconds(1)

    init(session: PostgresSession, logger: Logger, metrics: Metrics) {
        self.session = session
        self.logger = logger
        self.metrics = metrics
    }

    /// From any thread: these are folded as soon as possible.
    func fold(_ keys: Set<PurchaseKey>) {
        state.change { $0.wanted.formUnion(keys) }
    }

    /// Why a purchase could not be folded a moment ago; nil: it could, or it is to be tried again.
    func fault(of key: PurchaseKey) -> String? {
        state.read { $0.faults.isEmpty ? nil : $0.faults[key] }.flatMap { $0.until > .now ? $0.reason : nil }
    }

    func start() {
        _ = ServiceThread("worker-fold") { [self] in run() }
    }

    /// What is not folded yet is asked for again.
    func stop() {
        state.change { $0.isDone = true }
        session.cut()
    }

    private func run() {
        var cursor: PurchaseKey?
        var next = ContinuousClock.now + PurchaseFolder.pace
        while true {
            _ = state.wait(timeout: max(.zero, next - .now)) { $0.isDone || !$0.wanted.isEmpty ? true : nil }
            let (key, isDone) = state.read { ($0.wanted.first, $0.isDone) }
            guard !isDone else { return }
            if let key {
                metrics.gauge(.purchasesUnfolded, Double(state.read { $0.wanted.count }))
                fold(key)
                metrics.gauge(.purchasesUnfolded, Double(state.read { $0.wanted.count }))
            } else if ContinuousClock.now >= next {
                let begun = ContinuousClock.now
                do {
                    try session.withConnection { connection in cursor = try lookOver(after: cursor, on: connection) }
                } catch {
                    failed(cursor, error)
                }
                // A twentieth of the time at most, however long histories are.
                next = ContinuousClock.now + max(PurchaseFolder.pace, (ContinuousClock.now - begun) * 20)
            }
        }
    }

    private func fold(_ key: PurchaseKey) {
        do {
            try session.withConnection { connection in try foldAnew(key, on: connection) }
            state.change { state in
                state.wanted.remove(key)
                state.faults[key] = nil
            }
        } catch {
            failed(key, error)
            state.change { state in
                state.wanted.remove(key)
                state.faults = state.faults.filter { $0.value.until > .now }
                if error.fault == .work { state.faults[key] = ("\(error)", .now + PurchaseFolder.faultTime) }
            }
            _ = state.wait(timeout: .milliseconds(500)) { $0.isDone ? true : nil }
        }
    }

    private func failed(_ key: PurchaseKey?, _ error: any Error) {
        guard error.fault != .away, !state.read({ $0.isDone }) else { return }
        failure.note(
            "the facts of a purchase could not be folded (\(key?.originalTransactionID ?? "unknown"))", error, count: 1,
            logger)
    }

    /// Reads all rows without a lock, and keeps what they come to if none was added meanwhile.
    private func foldAnew(_ key: PurchaseKey, on connection: PostgresConnection) throws {
        let begun = ContinuousClock.now
        let mark = try FactStore.mark(of: key, on: connection)
        let known = try FactStore.all(of: key, page: PurchaseFolder.page, on: connection) {
            !state.read { $0.isDone }
        }
        guard let known, known.rows > 0 else { return }
        let isKept = try connection.transaction {
            _ = try Fence.hold([key.lane], on: connection)
            guard try FactStore.mark(of: key, on: connection) == mark else { return false }
            try PurchaseFoldStore.write([key: known], on: connection)
            return true
        }
        let duration = ContinuousClock.now - begun
        metrics.count(.purchasesFolded)
        guard duration > PurchaseFolder.slow || !isKept else { return }
        logger.notice(
            isKept
                ? "a purchase with many facts was folded; its notifications waited for it"
                : "a purchase got new facts while it was folded; it is folded again",
            [
                "app": .string(key.app), "original_transaction_id": .string(key.originalTransactionID),
                "facts": .int(Int64(known.rows)), "ms": .int(duration.milliseconds),
            ])
    }

    /// Compares the next kept state with its facts, as of one moment, and makes it anew where it differs or is of another form.
    private func lookOver(after cursor: PurchaseKey?, on connection: PostgresConnection) throws -> PurchaseKey? {
        guard let next = try PurchaseFoldStore.next(after: cursor, on: connection) else { return nil }
        guard next.isCurrent else {
            try foldAnew(next.key, on: connection)
            return next.key
        }
        let snapshot = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        let isSame = try connection.transaction(opening: [snapshot]) { _ in
            let kept = try PurchaseFoldStore.read([next.key], on: connection)[0]
            let known = try FactStore.all(of: next.key, page: PurchaseFolder.page, on: connection) {
                !state.read { $0.isDone }
            }
            guard let kept, let known else { return true }
            return kept.isSame(as: known)
        }
        guard !isSame else { return next.key }
        metrics.count(.foldsMended)
        logger.error(
            "what was kept of a purchase was not what its facts come to; it is made anew",
            ["app": .string(next.key.app), "original_transaction_id": .string(next.key.originalTransactionID)])
        try foldAnew(next.key, on: connection)
        return next.key
    }
}
