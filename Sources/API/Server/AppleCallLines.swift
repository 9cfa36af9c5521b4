import Base
import Daemon

/// The threads that call Apple, and the requests that wait for them. Backends, receipts and all other questions have a
/// line and threads of their own, so that a public key cannot keep the others from Apple.
package final class AppleCallLines: Sendable {
    /// What an errand is for, where a public key brings it.
    package enum Kind: String, CaseIterable, Sendable {
        /// About a purchase that a caller names.
        case question
        /// About a receipt that an app has to deliver.
        case receipt
    }

    struct AppleCall: Sendable {
        let share: WorkShare
        let isBackend: Bool
        let kind: Kind
        let work: @Sendable () -> Void
    }

    /// Of each line.
    private static let threads = 4
    private static let limit = 128
    /// Of these, one address has: half of the threads, an eighth of the places.
    private static let part = BoundedQueue<AppleCall>.Part(busy: 2, waiting: 16, waitingOfAccount: 16)

    private let backends = BoundedQueue<AppleCall>(limit: limit, part: part)
    private let receipts = BoundedQueue<AppleCall>(limit: limit, part: part)
    private let questions = BoundedQueue<AppleCall>(limit: limit, part: part)

    private var lines: [(name: String, line: BoundedQueue<AppleCall>)] {
        [("api-out-b", backends), ("api-out-r", receipts), ("api-out-q", questions)]
    }

    func start() {
        for (name, line) in lines {
            for number in 0..<AppleCallLines.threads {
                _ = ServiceThread("\(name)\(number)") { line.run { $0.work() } }
            }
        }
    }

    /// False where there is no room.
    func add(_ errand: AppleCall) -> Bool {
        let line = errand.isBackend ? backends : errand.kind == .receipt ? receipts : questions
        return line.add(errand, as: errand.share)
    }

    func end(until deadline: ContinuousClock.Instant) {
        for (_, line) in lines { _ = line.end(until: deadline) }
    }
}
