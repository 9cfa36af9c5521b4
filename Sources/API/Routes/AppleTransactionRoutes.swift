import AppStore
import Base
import Customers
import Database
import HTTP
import Ingest
import Postgres
import Subscriptions

/// `POST /apple/transactions`, of the StoreKit 2 server tutorial: the app names a purchase, and gets what it entitles
/// to.
///
/// A bare id proves nothing about who asks. So it makes the purchase known, and claims it for no customer: a backend gets
/// the document of the customer who has it, an app only the purchase itself, without any customer's ids. An `app_user_id` in
/// the body is passed over, and a header of the answer says so.
package struct AppleTransactionRoutes: Sendable {
    private let settings: PostingSettings
    private let answers: SubscriberResponses
    private let document: SubscriberDocument
    private let foldSettings: FoldSettings

    /// - Parameter foldSettings: as the worker's.
    package init(
        _ settings: PostingSettings, answers: SubscriberResponses, document: SubscriberDocument,
        foldSettings: FoldSettings
    ) {
        self.settings = settings
        self.answers = answers
        self.document = document
        self.foldSettings = foldSettings
    }

    package var routes: [APIRoute] {
        [APIRoute("POST", "/apple/transactions", .anyWritingKey) { call in try post(call) }]
    }

    private func post(_ call: APICall) throws -> APIAnswer {
        let body = try call.json()
        let named = try body.optionalText("original_transaction_id") ?? body.optionalText("originalTransactionId")
        guard let id = named, !id.isEmpty else { throw APIError.badRequest("original_transaction_id is missing.") }
        // Longer ones, and what is more than a name in a URL, Apple need not be asked about.
        guard AppleTransactionRoutes.isName(id) else { throw APIError.notFound("This is not a transaction id.") }
        let apps = settings.lookup.apps.filter { call.key?.app == nil || call.key?.app == $0 }
        guard !apps.isEmpty else {
            throw APIError.badRequest(
                "Apple cannot be queried: the app of this key has no server_api (issuer_id, key_id, private_key_file) in"
                    + " the configuration.")
        }
        let (lookup, keep, arrived) = (settings.lookup, self.keep, call.request.arrived)
        let unknown = APIError.notFound("Apple does not know the transaction \(id.prefix(64)) of this app.")
        let askable = try lookup.worthAsking(id, of: apps, on: call.connection)
        guard !askable.isEmpty else { throw unknown }
        return .outside {
            for app in askable {
                if let found = try lookup.purchase(id, of: app, arrived: arrived) {
                    return { call in try keep(found, call) }
                }
            }
            throw unknown
        }
    }

    private static func isName(_ id: String) -> Bool {
        id.utf8.count <= 64
            && id.utf8.allSatisfy { byte in
                byte == 0x2d || (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte & 0xdf)
            }
    }

    @Sendable private func keep(_ found: AccountLookup.Found, _ call: APICall) throws -> APIAnswer {
        let news = try found.news(on: call.connection)
        let posted = news.transactions.compactMap { settings.posted($0) }
        guard let key = posted.first?.key else { throw APIError.notFound("Apple's answer names no transaction.") }
        let places = try settings.actions.note(
            posted.compactMap(\.entry) + news.states.map(\.entry), sequence: settings.sequence, clock: settings.clock,
            on: call.connection)
        let answer = self.answer
        return settings.whenApplied(places) { call in
            AppleTransactionRoutes.sayWhatIsIgnored(try call.json(), try answer(key, call))
        }
    }

    /// Names what the caller may believe to count, and does not.
    private static func sayWhatIsIgnored(_ body: JSON, _ answer: APIAnswer) -> APIAnswer {
        guard case .response(var response) = answer, let id = body["app_user_id"], id != .null else { return answer }
        response.headers.append(("Entitled-Ignored", "app_user_id"))
        return .response(response)
    }

    @Sendable private func answer(_ key: PurchaseKey, _ call: APICall) throws -> APIAnswer {
        guard let owner = try PurchaseTable.owners([key], on: call.connection).first ?? nil else {
            throw APIError.unavailable("The transaction is stored but not applied yet. Retry the request.")
        }
        if call.isSecret { return try answers.answer(call, of: owner, isUsed: false) }
        let facts = try FactTable.load([key], on: call.connection)
        let purchases = facts.compactMap { Purchase(folding: $0, key: key, foldSettings: foldSettings) }
        let ids = try CustomerTable.load([owner], on: call.connection)[owner]?.appUserIDs ?? [owner]
        let now = settings.clock.now()
        let profile = CustomerProfile(originalAppUserID: owner, appUserIDs: ids, firstSeen: now, lastSeen: now)
        let whole = document.json(customer: profile, purchases: purchases, now: now)
        let subscriber = whole["subscriber"]
        return .response(
            .document(
                200,
                .object([
                    "request_date": whole["request_date"], "request_date_ms": whole["request_date_ms"],
                    "original_transaction_id": .string(key.originalTransactionID),
                    "entitlements": subscriber?["entitlements"], "subscriptions": subscriber?["subscriptions"],
                    "non_subscriptions": subscriber?["non_subscriptions"],
                ])))
    }
}
