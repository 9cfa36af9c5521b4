import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Folds purchases with many facts by a thread and a connection of its own, so that no lane waits for another one's history:
/// those that a turn asks for at once, and at leisure those that another version of the program folded. Looks over what is
/// kept, one purchase after the other, and mends it.
package final class PurchaseFolder: Sendable {
    private struct State {
        var wanted: Set<PurchaseKey> = []
        /// Why purchases could not be folded, for reasons that lie in their facts.
        var faults: [PurchaseKey: (reason: String, until: ContinuousClock.Instant)] = [:]
    }

    private let state = Monitor(State())
    private let loop = Loop("worker-fold")
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
    /// After a purchase that could not be folded.
    private static let pause = Duration.milliseconds(500)

    package init(session: PostgresSession, logger: Logger, metrics: Metrics) {
        self.session = session
        self.logger = logger
        self.metrics = metrics
    }

    /// From any thread: these are folded as soon as possible; those that could not be folded a moment ago are not.
    func fold(_ keys: Set<PurchaseKey>) {
        let now = ContinuousClock.now
        state.change { state in
            let faults = state.faults
            state.wanted.formUnion(keys.filter { key in faults[key].map { $0.until <= now } ?? true })
        }
        loop.wake()
    }

    /// Why a purchase could not be folded a moment ago; nil: it could, or it is to be tried again.
    func fault(of key: PurchaseKey) -> String? {
        state.read { $0.faults.isEmpty ? nil : $0.faults[key] }.flatMap { $0.until > .now ? $0.reason : nil }
    }

    func start() {
        loop.start { [self] loop in
            var cursor: PurchaseKey?
            var next = ContinuousClock.now + PurchaseFolder.pace
            loop.run(firstAfter: PurchaseFolder.pace) { step(&cursor, &next) }
        }
    }

    /// What is not folded yet is asked for again.
    func stop() {
        loop.beginDraining()
        session.cut()
    }

    /// Folds one purchase that is wanted, or looks at the next kept one once its time has come.
    private func step(_ cursor: inout PurchaseKey?, _ next: inout ContinuousClock.Instant) -> Next {
        if let key = state.read({ $0.wanted.first }) {
            metrics.gauge(.purchasesUnfolded, Double(state.read { $0.wanted.count }))
            defer { metrics.gauge(.purchasesUnfolded, Double(state.read { $0.wanted.count })) }
            return fold(key) ? .again : .after(PurchaseFolder.pause, atLeast: PurchaseFolder.pause)
        }
        if ContinuousClock.now >= next {
            let begun = ContinuousClock.now
            lookOver(after: &cursor)
            // A twentieth of the time at most, however long histories are.
            next = ContinuousClock.now + max(PurchaseFolder.pace, (ContinuousClock.now - begun) * 20)
        }
        return .after(max(.zero, next - .now))
    }

    /// False where it failed.
    private func fold(_ key: PurchaseKey) -> Bool {
        do {
            let isThrough = try session.withConnection { connection in try foldAnew(key, on: connection) }
            state.change { state in
                if isThrough { state.wanted.remove(key) }
                state.faults[key] = nil
            }
            return true
        } catch {
            failed(key, error)
            state.change { state in
                state.wanted.remove(key)
                state.faults = state.faults.filter { $0.value.until > .now }
                if error.fault == .work { state.faults[key] = ("\(error)", .now + PurchaseFolder.faultTime) }
            }
            return false
        }
    }

    private func failed(_ key: PurchaseKey?, _ error: any Error) {
        guard error.fault != .away, !loop.isDraining else { return }
        failure.warning(
            "purchase fold failed", error, count: 1,
            logger.with([
                "app": key.map { .string($0.app) },
                "original_transaction_id": key.map { .string($0.originalTransactionID) },
            ]))
    }

    private enum FoldResult {
        case kept
        /// It has no facts any more.
        case nothing
        /// Rows went while it was folded.
        case outrun
        case unkept(PurchaseFoldTable.Unkept)
    }

    /// Reads all rows without a lock, then what came meanwhile with the lane held, and keeps what they come to.
    ///
    /// - Returns: false: facts were taken away meanwhile, so that it is to be folded again.
    package func foldAnew(_ key: PurchaseKey, on connection: PostgresConnection) throws -> Bool {
        let begun = ContinuousClock.now
        var reading = FactTable.Reading(of: key)
        let isRead = try reading.readAll(page: PurchaseFolder.page, on: connection) { !loop.isDraining }
        guard isRead else { return true }
        // Twice, so that little is left to read while others wait for the lane.
        var outcome = FoldResult.outrun
        if try reading.catchUp(page: PurchaseFolder.page, on: connection) {
            outcome = try connection.transaction {
                _ = try Fence.hold([key.lane], on: connection)
                return try keep(key, &reading, on: connection)
            }
        }
        let duration = ContinuousClock.now - begun
        let details: Logger.Fields = [
            "app": .string(key.app), "original_transaction_id": .string(key.originalTransactionID),
            "facts": .int(Int64(reading.known.rows)), "ms": .int(duration.milliseconds),
        ]
        switch outcome {
        case .nothing: return true
        case .unkept(let reason): throw reason
        case .outrun:
            logger.notice("purchase fold restarted", details)
            return false
        case .kept:
            metrics.count(.purchasesFolded)
            if duration > PurchaseFolder.slow {
                logger.notice("large purchase folded", details)
            }
            return true
        }
    }

    /// The lane is held.
    private func keep(
        _ key: PurchaseKey, _ reading: inout FactTable.Reading, on connection: PostgresConnection
    ) throws -> FoldResult {
        guard try reading.catchUp(page: PurchaseFolder.page, on: connection) else { return .outrun }
        guard reading.known.rows > 0 else {
            try PurchaseFoldTable.remove([key], on: connection)
            return .nothing
        }
        let unkept = try PurchaseFoldTable.write([key: reading.known], on: connection)
        return unkept[key].map(FoldResult.unkept) ?? .kept
    }

    private enum Look {
        case same, different
        /// Another version of the program made it.
        case otherForm
    }

    /// Looks at the next kept state, and makes it anew where it is not what its facts come to.
    ///
    /// - Parameter cursor: the purchase that was looked at last, whatever came of it; nil: the first one is next.
    package func lookOver(after cursor: inout PurchaseKey?) {
        let former = cursor
        do {
            try session.withConnection { connection in try look(after: &cursor, on: connection) }
        } catch {
            failed(cursor == former ? nil : cursor, error)
        }
    }

    /// Compares the next kept state with its facts, as of one moment. It is made anew where it differs, cannot be read or
    /// is of another form.
    private func look(after cursor: inout PurchaseKey?, on connection: PostgresConnection) throws {
        let snapshot = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        let look = try connection.transaction(opening: [snapshot]) { _ -> Look in
            let next = try PurchaseFoldTable.next(after: cursor, on: connection)
            // Before it is looked at: what fails there must not keep those behind it waiting.
            cursor = next?.key
            guard let next else { return .same }
            guard next.isCurrent else { return .otherForm }
            guard let kept = try PurchaseFoldTable.read([next.key], on: connection)[0] else { return .different }
            let known = try FactTable.all(of: next.key, page: PurchaseFolder.page, on: connection) {
                !loop.isDraining
            }
            guard let known else { return .same }
            return kept.isSame(as: known) ? .same : .different
        }
        guard let key = cursor, look != .same else { return }
        if look == .different {
            metrics.count(.foldsMended)
            logger.error(
                "inconsistent purchase fold detected",
                ["app": .string(key.app), "original_transaction_id": .string(key.originalTransactionID)])
        }
        if try !foldAnew(key, on: connection) { fold([key]) }
    }
}
