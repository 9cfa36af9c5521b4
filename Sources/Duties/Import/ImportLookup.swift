import AppStore
import AppStoreAPI
import Base
import Customers
import Database
import Ingest
import Postgres
import Subscriptions

/// Asks Apple for everything of the purchases that rows name: the whole transaction history of the Apple account, and how its
/// subscriptions stand.
package struct ImportLookup: Sendable {
    package let client: ServerAPIClient
    private let admission: TransactionAdmission
    private let receipts: ReceiptVerifier
    private let source: NotificationSource
    let pace: ImportPace
    private let cancellation: Cancellation
    private let requestTime: Duration

    /// - Parameters:
    ///   - sendsEvents: whether the events of what is imported are sent.
    ///   - requestTime: of one request, with its repetitions.
    package init(
        client: ServerAPIClient, admission: TransactionAdmission, receipts: ReceiptVerifier, sendsEvents: Bool,
        pace: ImportPace = ImportPace(rate: nil), cancellation: Cancellation = Cancellation(),
        requestTime: Duration = .seconds(25)
    ) {
        self.client = client
        self.admission = admission
        self.receipts = receipts
        source = sendsEvents ? .importedToSend : .imported
        self.pace = pace
        self.cancellation = cancellation
        self.requestTime = requestTime
    }

    // MARK: - Questions

    /// What Apple is asked for a row.
    struct Question: Sendable {
        /// Of any transaction of the Apple account.
        let id: String
        /// The purchases that the row gives to its customer, by any of their transactions.
        let named: Set<String>
        let environments: [StoreEnvironment]
    }

    /// Why a row is refused, as a sentence.
    struct Refusal: Error, Sendable {
        let reason: String
    }

    /// What can be said without Apple: what was signed is verified.
    func question(_ row: ImportRow) throws(Refusal) -> Question {
        let environments = try environments(row.environment)
        switch row.purchase {
        case .original(let id), .transaction(let id):
            return Question(id: id, named: [id], environments: environments)
        case .jws(let text):
            switch admission.admit(text, of: client.app.id, from: source) {
            case .failure(let rejection): throw Refusal(reason: "jws: \(ImportLookup.reason(rejection))")
            case .success(let admitted):
                guard environments.contains(admitted.place.environment) else {
                    throw Refusal(
                        reason: "jws: it is of \(admitted.place.environment.rawValue), and the row says another")
                }
                let id = admitted.originalTransactionID
                return Question(id: id, named: [id], environments: [admitted.place.environment])
            }
        case .receipt(let text):
            guard let bytes = Base64.decode(text.utf8.filter { $0 > 0x20 }) else {
                throw Refusal(reason: "receipt: it is not base64")
            }
            let receipt: ReceiptPayload
            switch receipts.verify(bytes) {
            case .failure(let failure): throw Refusal(reason: "receipt: it is not verified: \(failure)")
            case .success(let payload): receipt = payload
            }
            guard receipt.bundleID == client.app.bundleID else {
                throw Refusal(reason: "receipt: it is of another app, \(receipt.bundleID)")
            }
            guard let first = receipt.newest.first else { throw Refusal(reason: "receipt: nothing was bought") }
            return Question(
                id: first.transactionID, named: Set(receipt.newest.map(\.originalTransactionID)),
                environments: environments)
        }
    }

    private func environments(_ named: StoreEnvironment?) throws(Refusal) -> [StoreEnvironment] {
        let all: [StoreEnvironment] = [.production, .sandbox].filter { client.app.environments.contains($0) }
        guard let named else { return all }
        guard all.contains(named) else {
            throw Refusal(reason: "environment: the app \(client.app.id) does not accept data of \(named.rawValue)")
        }
        return [named]
    }

    private static func reason(_ rejection: TransactionAdmission.Rejection) -> String {
        switch rejection {
        case .unverified(let failure): "it is not verified: \(failure.reason.rawValue): \(failure.detail)"
        case .notWanted(let why), .unknownApp(let why), .environmentNotAllowed(let why), .unready(let why): why
        case .otherApp: "it is of another app"
        }
    }

    /// The purchases of a question as they may be known here already; none where some is not.
    func known(_ question: Question, on connection: PostgresConnection) throws -> [PurchaseKey] {
        var keys: [PurchaseKey] = []
        for id in question.named.sorted() {
            let found = try PurchaseQuery.keys(of: id, app: client.app.id, environment: nil, on: connection).filter {
                question.environments.contains($0.environment)
            }
            // What is not applied yet is known by its own id alone.
            keys +=
                found.isEmpty && question.environments.count == 1
                ? question.environments.map {
                    PurchaseKey(app: client.app.id, environment: $0, originalTransactionID: id)
                } : found
            if found.isEmpty, question.environments.count > 1 {
                let pending = question.environments.map {
                    PurchaseKey(app: client.app.id, environment: $0, originalTransactionID: id)
                }
                let facts = try FactTable.load(pending, on: connection)
                let own = zip(pending, facts).filter { !$1.assignments.isEmpty }.map(\.0)
                if own.isEmpty { return [] }
                keys += own
            }
        }
        return keys
    }

    // MARK: - Answers

    enum Answer: Sendable {
        case found([CustomerActions.ImportedPurchase])
        /// Apple does not know it; in words.
        case unknown(String)
        case refused(String)
    }

    /// - Throws: what may pass by itself, and what concerns all rows.
    func answer(_ question: Question) throws(ServerAPIError) -> Answer {
        do throws(ServerAPIError) {
            for environment in question.environments {
                if let answer = try answer(question, in: environment) { return answer }
            }
            return .unknown("Apple does not know the transaction \(question.id) of this app")
        } catch {
            switch error {
            case .untrusted, .malformed, .tooLarge: return .refused("\(error)")
            case .refused(let rejection) where !rejection.isRetryable: return .refused("\(error)")
            default: throw error
            }
        }
    }

    /// Nil where this environment does not know it.
    private func answer(
        _ question: Question, in environment: StoreEnvironment
    ) throws(ServerAPIError) -> Answer? {
        let account = AccountLookup(client: client, admission: admission)
        guard var items = try account.history(of: question.id, in: environment, options, pace: pace.pass) else {
            return nil
        }
        var named: Set<String> = []
        for id in question.named.sorted() {
            if let original = ImportLookup.original(of: id, in: items) {
                named.insert(original)
                continue
            }
            // Apple's history leaves out what it does not count as a purchase of the account any more.
            let one = try AccountLookup.known { () throws(ServerAPIError) in
                pace.pass()
                return try client.transaction(id, in: .only(environment), options)
            }
            guard let item = one?.answer, let original = item.payload.originalTransactionId else { continue }
            items.append(item)
            named.insert(original)
        }
        guard !named.isEmpty else { return nil }
        var states: [SubscriptionState] = []
        if items.contains(where: { $0.payload.expiresDate != nil }) {
            states =
                try AccountLookup.known { () throws(ServerAPIError) in
                    pace.pass()
                    return try client.subscriptions(of: question.id, in: .only(environment), options).answer
                } ?? []
        }
        return try purchases(items, states, named, in: environment)
    }

    private var options: CallOptions {
        CallOptions(priority: .background, within: requestTime, cancellation: cancellation)
    }

    private static func original(of id: String, in items: [SignedItem<TransactionPayload>]) -> String? {
        if items.contains(where: { $0.payload.originalTransactionId == id }) { return id }
        return items.first { $0.payload.transactionId == id }?.payload.originalTransactionId
    }

    /// As they go into the log, by the same admission as everything that is posted.
    private func purchases(
        _ items: [SignedItem<TransactionPayload>], _ states: [SubscriptionState], _ named: Set<String>,
        in environment: StoreEnvironment
    ) throws(ServerAPIError) -> Answer {
        var transactions: [String: [(fact: TransactionFact, entry: NewNotification)]] = [:]
        for item in items + states.map(\.transaction) {
            switch admission.admit(item.text, of: client.app.id, from: source) {
            case .failure(let rejection): return try refused(rejection)
            case .success(let admitted):
                guard let fact = TransactionFact(item.payload, tie: item.jws.payload), let entry = admitted.entry else {
                    return .refused("Apple's answer lacks what a transaction cannot do without")
                }
                let id = admitted.originalTransactionID
                let isKnown = transactions[id]?.contains { $0.fact.says(fact) } ?? false
                if !isKnown { transactions[id, default: []].append((fact, entry)) }
            }
        }
        let scope = AppScope(app: client.app.id, environment: environment)
        var answers:
            [String: [(status: Int, transaction: TransactionFact, renewal: RenewalFact?, entry: NewNotification)]] = [:]
        for state in states {
            guard let fact = TransactionFact(state.transaction.payload, tie: state.transaction.jws.payload) else {
                continue
            }
            switch admission.admit(state, of: scope, from: source) {
            case .failure(let rejection): return try refused(rejection)
            case .success(let entry):
                let renewal = state.renewal.flatMap { RenewalFact($0.payload, tie: $0.jws.payload) }
                answers[state.originalTransactionID, default: []].append(
                    (Int(clamping: state.status.rawValue), fact, renewal, entry))
            }
        }
        return .found(
            transactions.keys.sorted().map { id in
                CustomerActions.ImportedPurchase(
                    key: PurchaseKey(app: scope.app, environment: environment, originalTransactionID: id),
                    isNamed: named.contains(id),
                    transactions: (transactions[id] ?? []).sorted { $0.fact.purchaseDate < $1.fact.purchaseDate },
                    states: answers[id] ?? [])
            })
    }

    /// - Throws: for what says nothing about the row.
    private func refused(_ rejection: TransactionAdmission.Rejection) throws(ServerAPIError) -> Answer {
        switch rejection {
        case .unverified(let failure) where failure.reason == .revocationUnknown:
            throw .unreachable("no responder answers whether the certificates it signs with are revoked")
        case .unready(let reason): throw .unreachable(reason)
        default: return .refused("Apple's answer: \(ImportLookup.reason(rejection))")
        }
    }
}

extension TransactionFact {
    /// Whether both are one statement, but for when it was signed.
    fileprivate func says(_ other: TransactionFact) -> Bool {
        var facts = PurchaseFacts()
        facts.insert(self)
        return facts.says(other)
    }
}
