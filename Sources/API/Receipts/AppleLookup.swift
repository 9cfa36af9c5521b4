import AppStore
import AppStoreAPI
import Base
import Database
import Ingest
import Postgres
import Subscriptions

/// Asks Apple's Server API about purchases of which an app has no signed transaction.
package struct AppleLookup: Sendable {
    /// The apps with a key, in the order of the configuration.
    package let apps: [String]
    private let client: @Sendable (String) -> ServerAPIClient?
    private let door: TransactionAdmission
    private let cancellation: Cancellation
    private let unknown: UnknownTransactions

    /// For everything that one request asks, from its arrival on: the wait for a thread counts.
    private static let patience = Duration.seconds(10)
    /// Purchases without renewals that are asked about for one receipt.
    private static let limit = 20

    package init(
        apps: [String], door: TransactionAdmission, cancellation: Cancellation = Cancellation(),
        client: @escaping @Sendable (String) -> ServerAPIClient?
    ) {
        self.apps = apps
        self.door = door
        self.cancellation = cancellation
        self.client = client
        unknown = UnknownTransactions()
    }

    private func options(_ arrived: ContinuousClock.Instant) throws -> CallOptions {
        let left = arrived + AppleLookup.patience - .now
        guard left > .zero else { throw APIError.unavailable("Too many requests are waiting for Apple.") }
        return CallOptions(within: left, cancellation: cancellation)
    }

    /// Where it is asked for a transaction of which no more than the id is known.
    private func places(_ client: ServerAPIClient) -> [AppScope] {
        client.app.environments.map { AppScope(app: client.app.id, environment: $0) }
    }

    /// Those of these apps for which Apple has to be asked about the id. Apps for which Apple did not know it a short
    /// time ago are left out, unless a purchase of theirs has the id by now.
    func worthAsking(_ id: String, of apps: [String], on connection: PostgresConnection) throws -> [String] {
        let doubtful = apps.filter { app in client(app).map { unknown.has(id, places($0)) } ?? false }
        guard !doubtful.isEmpty else { return apps }
        let known = Set(try PurchaseQuery.keys(of: id, app: nil, environment: nil, on: connection).map(\.app))
        for client in doubtful.filter(known.contains).compactMap(client) { unknown.forget(id, places(client)) }
        return apps.filter { !doubtful.contains($0) || known.contains($0) }
    }

    /// What Apple says of purchases.
    struct Answer {
        let environment: StoreEnvironment
        /// The oldest first.
        var transactions: [TransactionAdmission.Admitted] = []
        /// How subscriptions stand.
        var states: [(state: SubscriptionState, entry: NewNotification)] = []
    }

    /// A purchase by the id of one of its transactions; nil: Apple does not know it, which is remembered for a while.
    ///
    /// - Parameter arrived: when the caller began to wait.
    /// - Throws: `APIError`, 503, where Apple cannot be asked.
    func purchase(_ id: String, of app: String, arrived: ContinuousClock.Instant) throws -> Answer? {
        guard let client = client(app) else { return nil }
        let options = try options(arrived)
        let found = try asking { () throws(ServerAPIError) in
            do throws(ServerAPIError) {
                return try client.transaction(id, in: .productionThenSandbox, options)
            } catch {
                if error.code == .transactionIDNotFound { unknown.note(id, places(client)) }
                throw error
            }
        }
        guard let found else { return nil }
        var answer = Answer(environment: found.environment)
        answer.transactions.append(try admitted(found.answer, app))
        guard found.answer.payload.expiresDate != nil else { return answer }
        let states = try asking { () throws(ServerAPIError) in
            try client.subscriptions(of: id, in: .only(found.environment), options)
        }
        let original = found.answer.payload.originalTransactionId
        for state in states?.answer ?? [] where state.originalTransactionID == original {
            try add(state, app, to: &answer)
        }
        return answer
    }

    /// The purchases of a receipt that was verified: all subscriptions as they stand, and the newest of the rest.
    ///
    /// - Parameter arrived: when the caller began to wait.
    /// - Throws: `APIError`, 503, where Apple cannot be asked.
    func purchases(
        _ receipt: ReceiptPayload, of app: String, arrived: ContinuousClock.Instant
    ) throws -> Answer? {
        guard let client = client(app), let first = receipt.newest.first else { return nil }
        let options = try options(arrived)
        let choice = EnvironmentChoice(receipt)
        let states = try asking { () throws(ServerAPIError) in
            try client.subscriptions(of: first.transactionID, in: choice, options)
        }
        var answer = states.map { Answer(environment: $0.environment) }
        var known: Set<String> = []
        for state in states?.answer ?? [] {
            known.insert(state.originalTransactionID)
            if var made = answer {
                try add(state, app, to: &made)
                answer = made
            }
        }
        for purchase in receipt.newest.filter({ !known.contains($0.originalTransactionID) }).prefix(AppleLookup.limit) {
            guard
                let found = try asking({ () throws(ServerAPIError) in
                    try client.transaction(purchase.transactionID, in: choice, options)
                })
            else { continue }
            var made = answer ?? Answer(environment: found.environment)
            made.transactions.append(try admitted(found.answer, app))
            answer = made
        }
        answer?.transactions.sort { ($0.payload.purchaseDate ?? 0) < ($1.payload.purchaseDate ?? 0) }
        return answer
    }

    private func add(_ state: SubscriptionState, _ app: String, to answer: inout Answer) throws {
        answer.transactions.append(try admitted(state.transaction, app))
        let place = AppScope(app: app, environment: answer.environment)
        answer.states.append((state, try door.admit(state, of: place).mapError(APIError.init).get()))
    }

    private func admitted(_ item: SignedItem<TransactionPayload>, _ app: String) throws -> TransactionAdmission.Admitted
    {
        try door.admit(item.text, of: app).mapError(APIError.init).get()
    }

    private static let unknownCodes: Set<ServerAPIErrorCode> = [
        .accountNotFound, .originalTransactionIDNotFound, .transactionIDNotFound, .invalidTransactionID,
        .invalidOriginalTransactionID,
    ]

    /// Nil for what Apple does not know.
    private func asking<Found>(_ body: () throws(ServerAPIError) -> Found) throws -> Found? {
        do throws(ServerAPIError) {
            return try body()
        } catch {
            if case .invalid = error { return nil }
            if let code = error.code, AppleLookup.unknownCodes.contains(code) { return nil }
            throw APIError(error)
        }
    }
}

extension AppleLookup.Answer {
    /// Without entries for what is known: Apple signs anew whatever it is asked, and who asks again and again must not
    /// fill the log with it.
    func news(on connection: PostgresConnection) throws -> AppleLookup.Answer {
        let keys = transactions.map(\.key)
        let known = Dictionary(zip(keys, try FactTable.load(keys, on: connection))) { first, _ in first }
        var news = self
        news.transactions = transactions.map { item in
            var item = item
            if let fact = TransactionFact(item.payload, tie: item.jws.payload), known[item.key]?.says(fact) ?? false {
                item.entry = nil
            }
            return item
        }
        news.states = states.filter { item in
            let key = transactions.first { $0.originalTransactionID == item.state.originalTransactionID }?.key
            return key.flatMap { known[$0] }.map { !$0.says(item.state) } ?? true
        }
        return news
    }
}

extension TransactionAdmission.Admitted {
    var key: PurchaseKey {
        PurchaseKey(app: place.app, environment: place.environment, originalTransactionID: originalTransactionID)
    }
}

extension PurchaseFacts {
    fileprivate func says(_ state: SubscriptionState) -> Bool {
        guard let fact = TransactionFact(state.transaction.payload, tie: state.transaction.jws.payload) else {
            return false
        }
        return says(
            status: Int(clamping: state.status.rawValue), fact,
            state.renewal.flatMap { RenewalFact($0.payload, tie: $0.jws.payload) })
    }
}

extension EnvironmentChoice {
    /// Where a receipt says that it is from.
    fileprivate init(_ receipt: ReceiptPayload) {
        switch receipt.type {
        case "Production", "ProductionVPP": self = .only(.production)
        case "ProductionSandbox", "ProductionVPPSandbox": self = .only(.sandbox)
        default: self = .productionThenSandbox
        }
    }
}
