import Base

/// What came of a change.
package enum ChangeEnding: Sendable, Equatable {
    /// With what was done, for the operator.
    case done(JSON)
    /// With the reason, as a sentence.
    case refused(String)
    /// It could not be done, however often it was tried; with a sentence.
    case failed(String)

    /// As the audit names it.
    package enum Outcome: String, Sendable, CaseIterable {
        case done, refused, failed
    }

    package var outcome: Outcome {
        switch self {
        case .done: .done
        case .refused: .refused
        case .failed: .failed
        }
    }

    package var state: Job.State {
        switch self {
        case .done: .done
        case .refused, .failed: .failed
        }
    }

    /// The same of grants to many customers of which some were made, where not all of them are.
    package func afterGrants(_ count: Int64) -> ChangeEnding {
        let more =
            " \(count) \(count == 1 ? "customer has" : "customers have") the grant: asked for again after more than two hours,"
            + " it is granted to them once more."
        return switch self {
        case .refused(let message) where count > 0: .refused(message + more)
        case .failed(let message) where count > 0: .failed(message + more)
        case .done, .refused, .failed: self
        }
    }

    var document: JSON? {
        if case .done(let document) = self { document } else { nil }
    }

    package var message: String? {
        switch self {
        case .done: nil
        case .refused(let message), .failed(let message): message
        }
    }
}
