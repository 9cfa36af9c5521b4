import AppStore
import AppStoreAPI
import Base
import Database

/// Asks Apple for everything of one Apple account: how its subscriptions stand, and its whole transaction history.
///
/// The answers are admitted as everything else that was signed is, and go into the log by the same way.
package struct AccountLookup: Sendable {
    package let client: ServerAPIClient
    private let admission: TransactionAdmission
    private let mostTransactions: Int

    /// - Parameter mostTransactions: what one turn brings at most; it is written in one transaction, which holds lanes.
    package init(client: ServerAPIClient, admission: TransactionAdmission, mostTransactions: Int = 500) {
        self.client = client
        self.admission = admission
        self.mostTransactions = mostTransactions
    }

    package struct Question: Sendable, Hashable {
        /// Of any transaction of the account.
        package let id: String
        package let environment: EnvironmentChoice
        /// Transactions that are asked for one by one where the history lacks them: it leaves out what Apple does not count as a
        /// purchase of the account any more.
        package let others: Set<String>
        /// The page behind which the history goes on; nil: its beginning.
        package let revision: String?

        package init(
            id: String, in environment: EnvironmentChoice, others: Set<String> = [], after revision: String? = nil
        ) {
            self.id = id
            self.environment = environment
            self.others = others
            self.revision = revision
        }
    }

    /// What is left to ask.
    package struct Rest: Sendable, Equatable {
        /// Of a transaction that Apple knows.
        package let id: String
        /// The page behind which the history goes on; nil: its beginning.
        package let revision: String?
        package let others: Set<String>
    }

    /// What Apple says of the account's purchases.
    package struct Found: Sendable {
        package let environment: StoreEnvironment
        /// The oldest first.
        package var transactions: [TransactionAdmission.Admitted] = []
        /// How subscriptions stand.
        package var states: [(state: SubscriptionState, entry: NewNotification)] = []
        /// Nil: it is everything.
        package var rest: Rest?

        package init(environment: StoreEnvironment) {
            self.environment = environment
        }
    }

    package enum Answer: Sendable {
        /// Everything, or as much as one turn brings.
        case found(Found)
        /// Apple does not know the transaction.
        case unknown
        /// Apple could not be asked, or not for everything; then what was found until then.
        case failed(ServerAPIError, Found?)
    }

    /// Transactions that are asked for one by one in one turn.
    private static let mostOthers = 20

    /// Asks for the subscriptions first: an app that can wait for no more has what is active by them. What is too much for one
    /// turn, or for the time, is left as the rest.
    ///
    /// - Parameter pace: called before each request.
    package func look(_ question: Question, _ options: CallOptions, pace: () -> Void = {}) -> Answer {
        var turn: Turn?
        do throws(ServerAPIError) {
            guard var begun = try begin(question, options, pace) else { return .unknown }
            turn = begun
            while begun.hasMore, begun.found.transactions.count < mostTransactions {
                pace()
                let page = try AccountLookup.known { () throws(ServerAPIError) in
                    try client.transactionPage(
                        of: begun.id, after: begun.revision, in: begun.found.environment, options)
                }
                if page == nil, question.revision != nil { return .unknown }
                var items: [TransactionAdmission.Admitted] = []
                for item in page?.transactions ?? [] { items.append(try admitted(item)) }
                try begun.add(items, page?.revision, hasMore: page?.hasMore ?? false)
                turn = begun
            }
            var asked = 0
            while !begun.hasMore, asked < AccountLookup.mostOthers, let id = begun.others.min() {
                pace()
                asked += 1
                let one = try AccountLookup.known { () throws(ServerAPIError) in
                    try client.transaction(id, in: .only(begun.found.environment), options)
                }
                if let one { begun.add([try admitted(one.answer)]) }
                begun.others.remove(id)
                turn = begun
            }
            return .found(begun.answer)
        } catch {
            if error.code == .invalidRequestRevision, question.revision != nil {
                return look(
                    Question(id: question.id, in: question.environment, others: question.others), options, pace: pace)
            }
            return .failed(error, turn?.answer)
        }
    }

    /// What one turn has found, and how far it is.
    private struct Turn {
        let id: String
        var found: Found
        var others: Set<String>
        var revision: String?
        var hasMore = true
        private var seen: Set<String> = []

        init(id: String, _ environment: StoreEnvironment, _ question: Question) {
            self.id = id
            found = Found(environment: environment)
            (others, revision) = (question.others, question.revision)
        }

        /// A later word on a transaction takes the place of an earlier one.
        mutating func add(_ items: [TransactionAdmission.Admitted]) {
            let ids = Set(items.compactMap(\.payload.transactionId))
            found.transactions.removeAll { $0.payload.transactionId.map(ids.contains) ?? false }
            found.transactions += items
            others.subtract(ids)
        }

        /// A page of the history.
        mutating func add(
            _ items: [TransactionAdmission.Admitted], _ next: String?, hasMore isMore: Bool
        ) throws(ServerAPIError) {
            add(items)
            hasMore = isMore
            guard let next, next.utf8.count <= 4096 else {
                if hasMore { throw AccountLookup.endless }
                return
            }
            guard seen.insert(next).inserted || !hasMore else { throw AccountLookup.endless }
            revision = next
        }

        var answer: Found {
            var answer = found
            answer.transactions.sort { ($0.payload.purchaseDate ?? 0) < ($1.payload.purchaseDate ?? 0) }
            if hasMore || !others.isEmpty { answer.rest = Rest(id: id, revision: revision, others: others) }
            return answer
        }
    }

    private static let endless = ServerAPIError.malformed(
        "there are more pages, but nothing says how to get them")

    /// Asks how the subscriptions stand, by the first transaction that Apple knows. A history that goes on began with them.
    private func begin(
        _ question: Question, _ options: CallOptions, _ pace: () -> Void
    ) throws(ServerAPIError) -> Turn? {
        if question.revision != nil, case .only(let environment) = question.environment {
            return Turn(id: question.id, environment, question)
        }
        let ids = [question.id] + question.others.subtracting([question.id]).sorted().prefix(AccountLookup.mostOthers)
        for id in ids {
            pace()
            let states = try AccountLookup.known { () throws(ServerAPIError) in
                try client.subscriptions(of: id, in: question.environment, options)
            }
            guard let states else { continue }
            var turn = Turn(id: id, states.environment, question)
            turn.revision = nil
            for state in states.answer {
                turn.add([try admitted(state.transaction)])
                turn.found.states.append((state, try admitted(state, in: states.environment)))
            }
            return turn
        }
        return nil
    }

    /// All transactions of an account; nil where Apple does not know the transaction.
    ///
    /// - Parameters:
    ///   - options: of each page, made when its turn has come: a slow pace must not use up the time of its request.
    ///   - pace: waits for the turn of a page.
    package func history(
        of id: String, in environment: StoreEnvironment, _ options: @autoclosure () -> CallOptions,
        pace: () -> Void = {}
    ) throws(ServerAPIError) -> [SignedItem<TransactionPayload>]? {
        try AccountLookup.known { () throws(ServerAPIError) in
            var items: [SignedItem<TransactionPayload>] = []
            var (revision, seen): (String?, Set<String>) = (nil, [])
            while true {
                pace()
                let page = try client.transactionPage(of: id, after: revision, in: environment, options())
                items += page.transactions
                guard page.hasMore else { return items }
                guard let next = page.revision, next.utf8.count <= 4096, seen.insert(next).inserted else {
                    throw AccountLookup.endless
                }
                revision = next
            }
        }
    }

    private static let unknownCodes: Set<ServerAPIErrorCode> = [
        .accountNotFound, .originalTransactionIDNotFound, .transactionIDNotFound, .invalidTransactionID,
        .invalidOriginalTransactionID,
    ]

    /// Nil for what Apple does not know.
    package static func known<Answer>(
        _ body: () throws(ServerAPIError) -> Answer
    ) throws(ServerAPIError) -> Answer? {
        do throws(ServerAPIError) {
            return try body()
        } catch {
            if let code = error.code, unknownCodes.contains(code) { return nil }
            throw error
        }
    }

    // MARK: - Admission

    func admitted(
        _ item: SignedItem<TransactionPayload>
    ) throws(ServerAPIError) -> TransactionAdmission.Admitted {
        switch admission.admit(item.text, of: client.app.id) {
        case .success(let admitted): return admitted
        case .failure(let rejection): throw AccountLookup.error(rejection)
        }
    }

    private func admitted(
        _ state: SubscriptionState, in environment: StoreEnvironment
    ) throws(ServerAPIError) -> NewNotification {
        let place = AppScope(app: client.app.id, environment: environment)
        switch admission.admit(state, of: place, from: state.isLongOver ? .imported : .status) {
        case .success(let entry): return entry
        case .failure(let rejection): throw AccountLookup.error(rejection)
        }
    }

    private static func error(_ rejection: TransactionAdmission.Rejection) -> ServerAPIError {
        switch rejection {
        case .unverified(let failure) where failure.reason == .revocationUnknown:
            .unreachable("no responder answers whether the certificates it signs with are revoked")
        case .unready(let reason): .unreachable(reason)
        case .unverified(let failure): .malformed("it is not verified: \(failure.reason.rawValue): \(failure.detail)")
        case .notWanted(let why), .unknownApp(let why), .environmentNotAllowed(let why): .malformed(why)
        case .otherApp: .malformed("it is of another app")
        }
    }
}

extension SubscriptionState {
    /// Whether it ended so long ago that no consumer needs to be told how.
    fileprivate var isLongOver: Bool {
        guard let end = transaction.payload.expiresDate else { return false }
        return end < (transaction.payload.signedDate ?? end) - NotificationOrigin.oldest
    }
}

extension ServerAPIError {
    /// Whether it may be so for all accounts: Apple is away, or takes no requests of this app. Everything else is about the one
    /// account that was asked about, or about our own deadline for it.
    package var isGeneral: Bool {
        switch self {
        case .unauthorized, .unreachable: true
        case .refused(let refusal): refusal.status >= 500 || refusal.status == 429
        case .outOfTime, .limited: true
        case .untrusted, .malformed, .tooLarge, .invalid, .cancelled: false
        }
    }
}
