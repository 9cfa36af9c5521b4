import Base
import Postgres

/// Decides what a failed transaction means: wait, take less at a time, or set one notification aside. Pure.
///
/// A notification is held only when it failed alone, and for a reason that lies in its data: whatever else is wrong (the
/// database, its schema, its rights, somebody's lock) is everybody's trouble, and would hold one after another.
struct BatchCare {
    enum Verdict: Equatable {
        /// Try the same again.
        case again
        /// Take notifications one by one for so many turns.
        case oneByOne(Int)
        /// Pass this one over for a while, and see whether the others fare better.
        case passOver
        /// Set this one aside.
        case hold
    }

    private var slowBatches = 0
    /// What was too slow alone; true once something else was applied since.
    private var slowAlone: [Int64: Bool] = [:]
    private static let remembered = 1000

    /// - Parameters:
    ///   - pending: the numbers of the notifications in the failed transaction.
    ///   - isAlone: whether nothing else was in it.
    mutating func judge(_ error: any Error, pending: [Int64], isAlone: Bool) -> Verdict {
        let fault = BatchCare.fault(of: error)
        guard fault != .everybodys, let first = pending.first else { return .again }
        guard pending.count == 1, isAlone else {
            // Waiting may help against a timeout once; the second time the batch is too much.
            slowBatches += 1
            return fault == .time && slowBatches < 2 ? .again : .oneByOne(pending.count)
        }
        if fault == .data { return .hold }
        if slowAlone[first] == true {
            slowAlone[first] = nil
            return .hold
        }
        if slowAlone.count >= BatchCare.remembered { slowAlone.removeAll() }
        slowAlone[first] = false
        return .passOver
    }

    /// A transaction with so many notifications was committed.
    mutating func succeeded(_ count: Int) {
        slowBatches = 0
        guard count > 0 else { return }
        for key in slowAlone.keys { slowAlone[key] = true }
    }

    enum Fault {
        case data, time, everybodys
    }

    /// SQLSTATE classes of Postgres' manual, appendix A.
    static func fault(of error: any Error) -> Fault {
        guard let error = error as? PostgresError else { return .data }
        switch error.kind {
        case .connection, .configuration: return .everybodys
        case .encoding, .decoding: return .data
        case .query: break
        }
        guard let state = error.sqlstate else { return .everybodys }
        // statement_timeout, idle_in_transaction_session_timeout
        if ["57014", "25P03"].contains(state) { return .time }
        // Of what a statement was given: cardinality, data, constraints, program limits.
        return ["21", "22", "23", "54"].contains(state.prefix(2)) ? .data : .everybodys
    }
}
