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
    private let admission: TransactionAdmission
    let cancellation: Cancellation
    private let unknown: UnknownTransactions

    /// For everything that one request asks, from its arrival on: the wait for a thread counts.
    private static let patience = Duration.seconds(10)

    package init(
        apps: [String], admission: TransactionAdmission, cancellation: Cancellation = Cancellation(),
        client: @escaping @Sendable (String) -> ServerAPIClient?
    ) {
        self.apps = apps
        self.admission = admission
        self.cancellation = cancellation
        self.client = client
        unknown = UnknownTransactions()
    }

    private func options(_ arrived: ContinuousClock.Instant) throws -> CallOptions {
        let left = arrived + AppleLookup.patience - .now
        guard left > .zero else { throw APIError.unavailable("Too many requests are waiting for Apple.") }
        return CallOptions(within: left, cancellation: cancellation)
    }

    /// Asks for everything of accounts in an app; nil for apps without a key.
    func accounts(in app: String) -> AccountLookup? {
        guard apps.contains(app) else { return nil }
        return client(app).map { AccountLookup(client: $0, admission: admission) }
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

    /// A purchase by the id of one of its transactions; nil: Apple does not know it, which is remembered for a while.
    ///
    /// - Parameter arrived: when the caller began to wait.
    /// - Throws: `APIError`, 503, where Apple cannot be asked.
    func purchase(_ id: String, of app: String, arrived: ContinuousClock.Instant) throws -> AccountLookup.Found? {
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
        var answer = AccountLookup.Found(environment: found.environment)
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

    private func add(_ state: SubscriptionState, _ app: String, to answer: inout AccountLookup.Found) throws {
        answer.transactions.append(try admitted(state.transaction, app))
        let place = AppScope(app: app, environment: answer.environment)
        answer.states.append((state, try admission.admit(state, of: place).mapError(APIError.init).get()))
    }

    private func admitted(_ item: SignedItem<TransactionPayload>, _ app: String) throws -> TransactionAdmission.Admitted
    {
        try admission.admit(item.text, of: app).mapError(APIError.init).get()
    }

    /// Nil for what Apple does not know.
    private func asking<Found>(_ body: () throws(ServerAPIError) -> Found) throws -> Found? {
        do throws(ServerAPIError) {
            return try AccountLookup.known(body)
        } catch {
            if case .invalid = error { return nil }
            throw APIError(error)
        }
    }
}

extension EnvironmentChoice {
    /// Where a receipt says that it is from.
    init(_ receipt: ReceiptPayload) {
        switch receipt.type {
        case "Production", "ProductionVPP": self = .only(.production)
        case "ProductionSandbox", "ProductionVPPSandbox": self = .only(.sandbox)
        default: self = .productionThenSandbox
        }
    }
}

extension ServerAPIApp {
    /// Where such a receipt is asked about first; nil: nothing of there is taken.
    func environment(of choice: EnvironmentChoice) -> StoreEnvironment? {
        switch choice {
        case .only(let environment): environments.contains(environment) ? environment : nil
        case .productionThenSandbox: environments.contains(.production) ? .production : environments.first
        }
    }
}
