import Base
import Daemon

/// The threads that call Apple, and the requests that wait for them. Backends, receipts, first looks at accounts and all
/// other questions have a line and threads of their own, so that a public key cannot keep the others from Apple.
package final class AppleCallLines: Sendable {
    /// What an appleCall is for, where a public key brings it.
    package enum Kind: String, CaseIterable, Sendable {
        /// About a purchase that a caller names.
        case question
        /// About a receipt that an app has to deliver.
        case receipt
        /// About the account of a purchase that is posted as no restore, for the first time. After an upgrade every account has
        /// one to come: few are asked about at a time, and few wait; the others are asked about later.
        case account
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
    private static let accountPart = BoundedQueue<AppleCall>.Part(busy: 2, waiting: 16, waitingOfAccount: 16)

    private let backends = BoundedQueue<AppleCall>(limit: limit, part: part)
    private let receipts = BoundedQueue<AppleCall>(limit: limit, part: part)
    private let questions = BoundedQueue<AppleCall>(limit: limit, part: part)
    private let accounts = BoundedQueue<AppleCall>(limit: accountPart.waiting, part: accountPart)

    private var lines: [(name: String, line: BoundedQueue<AppleCall>, threads: Int)] {
        [
            ("api-out-b", backends, AppleCallLines.threads), ("api-out-r", receipts, AppleCallLines.threads),
            ("api-out-q", questions, AppleCallLines.threads), ("api-out-a", accounts, AppleCallLines.accountPart.busy),
        ]
    }

    func start() {
        for (name, line, threads) in lines {
            for number in 0..<threads {
                _ = ServiceThread("\(name)\(number)") { line.run { $0.work() } }
            }
        }
    }

    /// False where there is no room.
    func add(_ appleCall: AppleCall) -> Bool {
        let line =
            switch appleCall.kind {
            case .account: accounts
            case .receipt: appleCall.isBackend ? backends : receipts
            case .question: appleCall.isBackend ? backends : questions
            }
        return line.add(appleCall, as: appleCall.share)
    }

    func end(until deadline: ContinuousClock.Instant) {
        for (_, line, _) in lines { _ = line.end(until: deadline) }
    }
}
