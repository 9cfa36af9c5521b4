import Base
import Postgres

/// Decides what a failed transaction means: wait, take less at a time, or set one notification aside. Pure.
///
/// A notification is held only when it failed alone, and for a reason that lies in its data: whatever else is wrong (the
/// database, its schema, its rights) is everybody's trouble, and would hold one notification after another.
struct BatchCare {
    enum Verdict: Equatable {
        /// Try the same again.
        case again
        /// Take notifications one by one for so many turns.
        case oneByOne(Int)
        /// Set this one aside.
        case hold
    }

    /// Times that a notification may fail alone for want of time before it is set aside.
    private static let patience = 3
    private var failures = 0

    /// - Parameters:
    ///   - pending: notifications in the failed transaction.
    ///   - isAlone: whether nothing else was in it.
    mutating func judge(_ error: any Error, pending: Int, isAlone: Bool) -> Verdict {
        let fault = BatchCare.fault(of: error)
        guard fault != .everybodys, pending > 0 else {
            failures = 0
            return .again
        }
        guard pending == 1, isAlone else {
            // Waiting may help against a timeout once; the second time the batch is too much.
            failures += 1
            return fault == .time && failures < 2 ? .again : .oneByOne(pending)
        }
        failures += 1
        return fault == .data || failures >= BatchCare.patience ? .hold : .again
    }

    mutating func succeeded() {
        failures = 0
    }

    private enum Fault {
        case data, time, everybodys
    }

    /// SQLSTATE classes of Postgres' manual, appendix A.
    private static func fault(of error: any Error) -> Fault {
        guard let error = error as? PostgresError else { return .data }
        switch error.kind {
        case .connection, .configuration: return .everybodys
        case .encoding, .decoding: return .data
        case .query: break
        }
        guard let state = error.sqlstate else { return .everybodys }
        // statement_timeout, lock_timeout, idle_in_transaction_session_timeout
        if ["57014", "55P03", "25P03"].contains(state) { return .time }
        // Of what a statement was given: cardinality, data, constraints, program limits.
        return ["21", "22", "23", "54"].contains(state.prefix(2)) ? .data : .everybodys
    }
}
