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
