import AppStore
import AppStoreAPI
import Base
import Database
import Ingest
import Subscriptions

/// Asks Apple one part of an inquiry: no row and no connection is held meanwhile.
struct InquiryLook: Sendable {
    /// What Apple answered to one part.
    struct Answer: Sendable {
        /// What is signed, of the purchase or order that was asked about.
        var transactions: [TransactionAdmission.Admitted] = []
        var states: [(state: SubscriptionState, entry: NewNotification)] = []
        /// As it is once this part is kept.
        var progress: InquiryProgress
        var ending = Ending.more
        /// The app of this part.
        var app: String?
        /// Of a purchase whose history is asked for from the beginning once more.
        var isBehind = false

        var environment: StoreEnvironment? {
            transactions.first?.place.environment ?? states.first?.entry.identity.environment
        }

        /// Whether the same question may be answered a little later.
        func isPassing(_ error: ServerAPIError) -> Bool { isBehind || error.isRetryable }

        /// Whether Apple lets every question about the app wait, or turns it away.
        var isOfWholeApp: Bool {
            guard case .failed(let error) = ending else { return false }
            return switch error {
            case .unreachable, .outOfTime, .limited: true
            case .refused(let rejection): rejection.status == 429
            case .unauthorized, .untrusted, .malformed, .tooLarge, .invalid, .cancelled: false
            }
        }
    }

    enum Ending: Sendable {
        /// The next part is to be asked for.
        case more
        /// Everything was answered.
        case whole
        /// Apple does not know the purchase.
        case unknown
        /// Apple could not be asked for all of this part.
        case failed(ServerAPIError)
    }

    private let lookups: [String: AccountLookup]
    private let cancellation: Cancellation

    /// For the requests of one part.
    private static let callTime = Duration.seconds(10)
    /// - Parameter lookups: by app; those without a key have none.
    init(_ lookups: [String: AccountLookup], _ cancellation: Cancellation) {
        (self.lookups, self.cancellation) = (lookups, cancellation)
    }

    /// Apps that Apple can be asked about.
    var apps: [String] { lookups.keys.sorted() }

    func canAsk(_ app: String) -> Bool { lookups[app] != nil }

    /// Whether Apple can be asked about an app's orders, which are of Production alone.
    func hasOrders(_ app: String) -> Bool { lookups[app]?.client.app.environments.contains(.production) ?? false }

    func takes(_ key: PurchaseKey) -> Bool {
        lookups[key.app]?.client.app.environments.contains(key.environment) ?? false
    }

    private var options: CallOptions {
        CallOptions(priority: .interactive, within: InquiryLook.callTime, cancellation: cancellation)
    }

    /// - Parameters:
    ///   - failures: since something came of it.
    ///   - resting: apps of which an order is not asked about while there are others.
    func ask(
        _ inquiry: Inquiry, _ progress: InquiryProgress, failures: Int64, passingOver resting: Set<String> = []
    ) -> Answer {
        switch inquiry {
        case .purchase(let key): ask(key, progress)
        case .order(let id, let apps): ask(id, apps, progress, failures, resting)
        }
    }

    /// Apps that are still to be asked about.
    static func left(of inquiry: Inquiry, _ progress: InquiryProgress) -> [String] {
        switch inquiry {
        case .purchase(let key): [key.app]
        case .order(_, let apps):
            apps.filter { !progress.answered.contains($0) && progress.failures[$0] == nil }
        }
    }

    // MARK: - A purchase

    private func ask(_ key: PurchaseKey, _ progress: InquiryProgress) -> Answer {
        var answer = Answer(progress: progress)
        answer.app = key.app
        guard let lookup = lookups[key.app] else {
            answer.ending = .failed(.invalid("the app has no key"))
            return answer
        }
        let id = key.originalTransactionID
        let question = AccountLookup.Question(
            id: progress.rest?.id ?? id, in: .only(key.environment), others: progress.rest?.others ?? [id],
            after: progress.rest?.revision)
        let result = lookup.look(question, options)
        switch result {
        case .found(let found):
            add(found, of: key, to: &answer)
            answer.progress.rest = found.rest.map { .init(id: $0.id, revision: $0.revision, others: $0.others) }
            answer.ending = found.rest == nil ? .whole : .more
        case .unknown where progress.rest?.revision != nil:
            // The page is not known any more: from the beginning.
            (answer.progress.rest, answer.isBehind) = (nil, true)
            answer.ending = .failed(.malformed("it does not know its own page of the history any more"))
        case .unknown: askAlone(key, lookup, &answer)
        case .failed(let error, let found):
            if let found, let rest = found.rest {
                add(found, of: key, to: &answer)
                answer.progress.rest = .init(id: rest.id, revision: rest.revision, others: rest.others)
            }
            // What was asked for in vain is asked for again, unless something came of it.
            let isAhead = answer.progress.rest != progress.rest && answer.progress.rest?.revision != nil
            answer.ending = isAhead && error.isRetryable && error != .cancelled ? .more : .failed(error)
        }
        return answer
    }

    /// Of the account no other purchase is meant.
    private func add(_ found: AccountLookup.Found, of key: PurchaseKey, to answer: inout Answer) {
        // The one by which the subscription stands is in the log since an earlier part, though it may not be applied yet.
        let stated = answer.progress.stated
        answer.transactions = found.transactions.filter {
            $0.key == key && (stated == nil || $0.payload.transactionId != stated)
        }
        answer.states = found.states.filter { $0.state.originalTransactionID == key.originalTransactionID }
        if let state = answer.states.last?.state {
            answer.progress.status = state.status.word
            answer.progress.stated = state.transaction.payload.transactionId
        }
    }

    /// One that is no subscription of an account that Apple has a history of.
    private func askAlone(_ key: PurchaseKey, _ lookup: AccountLookup, _ answer: inout Answer) {
        switch lookup.transaction(key.originalTransactionID, in: key.environment, options) {
        case .success(let one?) where one.key == key:
            answer.transactions = [one]
            answer.ending = .whole
        case .success: answer.ending = .unknown
        case .failure(let error): answer.ending = .failed(error)
        }
    }

    // MARK: - An order

    /// One app in each part, another one after a failure: what Apple cannot be asked of one app keeps no answer back of another.
    private func ask(
        _ order: String, _ apps: [String], _ progress: InquiryProgress, _ failures: Int64, _ resting: Set<String>
    ) -> Answer {
        var answer = Answer(progress: progress)
        let left = InquiryLook.left(of: .order(order, apps: apps), progress)
        guard !left.isEmpty else {
            answer.ending = .whole
            return answer
        }
        let awake = left.filter { !resting.contains($0) }
        let choice = awake.isEmpty ? left : awake
        let app = choice[Int(failures % Int64(choice.count))]
        answer.app = app
        guard let lookup = lookups[app] else {
            answer.ending = .failed(.invalid("the app has no key"))
            return answer
        }
        switch lookup.order(order, options) {
        case .success(let found):
            answer.transactions = found
            for key in found.map(\.key) where !answer.progress.purchases.contains(key) {
                answer.progress.purchases.append(key)
            }
            answer.progress.answered.append(app)
            answer.ending = left.count == 1 ? .whole : .more
        case .failure(let error): answer.ending = .failed(error)
        }
        return answer
    }
}
