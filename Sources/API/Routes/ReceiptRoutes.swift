import AppStore
import AppStoreAPI
import Base
import Customers
import Database
import HTTP
import Ingest
import Postgres
import Subscriptions

/// `POST /v1/receipts`: an app posts what it bought, for the customer who is logged in.
///
/// What Apple signed goes into the log and through the lanes as a notification would; the answer waits for the record.
/// An app finishes its transaction on every answer that is no 5xx, so from the commit on nothing may be lost, and
/// before it nothing but what can never succeed is refused for good.
package struct ReceiptRoutes: Sendable {
    private let settings: PostingSettings
    private let receipts: ReceiptVerifier
    private let answers: SubscriberResponses

    package init(_ settings: PostingSettings, receipts: ReceiptVerifier, answers: SubscriberResponses) {
        self.settings = settings
        self.receipts = receipts
        self.answers = answers
    }

    package var routes: [APIRoute] {
        [APIRoute("POST", "/v1/receipts", .anyWritingKey) { call in try post(call) }]
    }

    /// Platforms whose purchases Apple knows nothing of.
    private static let others: Set = ["android", "amazon", "stripe", "roku", "web", "paddle"]

    private func post(_ call: APICall) throws -> APIAnswer {
        if let platform = call.platform, ReceiptRoutes.others.contains(platform) {
            throw APIError(400, code: 7000, "Invalid platform: only purchases of the App Store are known here.")
        }
        let body = try ReceiptBody(call.json())
        guard let token = body.fetchToken else { return try keep(PostedItems(), body, call) }
        switch PostedToken(token) {
        case .xcode: throw APIError.xcode
        case .unknown(let what):
            throw APIError.invalidReceipt(
                "fetch_token is not a receipt: it is \(what). It must be a StoreKit 2 transaction as Apple signed it (a JWS),"
                    + " or an app receipt in base64.")
        case .transaction(let jws):
            try APIError.checkSize(of: call)
            let admitted = try settings.admission.admit(jws, of: call.key?.app).mapError(APIError.init).get()
            call.request.countForAccount()
            return try resolve(admitted, body, call)
        case .receipt(let bytes):
            return try resolve(bytes, body, call)
        }
    }

    // MARK: - The rest of the account

    /// Of a restore, and of an account that Apple was not asked about yet, everything is fetched before the post is kept: so
    /// its events are told in their order, and no end that was none.
    private func resolve(
        _ admitted: TransactionAdmission.Admitted, _ body: ReceiptBody, _ call: APICall
    ) throws -> APIAnswer {
        let posted = PostedItems([admitted])
        guard let lookup = settings.lookup.accounts(in: admitted.place.app), let id = admitted.payload.transactionId
        else { return try keep(posted, body, call) }
        let subject = AccountLookTable.Subject(
            key: admitted.key, transactionID: id, account: admitted.payload.appTransactionId)
        if let age = try AccountLookTable.age(of: subject, on: call.connection) {
            if body.source != .restore { return try keep(posted, body, call) }
            if age < ReceiptRoutes.freshness {
                let account = AccountKey(of: subject.key, account: subject.account)
                return try keep(
                    posted.with(rest: try settings.actions.purchases(of: account, on: call.connection)), body, call)
            }
        }
        let request = AccountLooks.Request(
            account: AccountKey(of: subject.key, account: subject.account),
            question: AccountLookup.Question(id: id, in: .only(admitted.place.environment)), lookup: lookup,
            isRestore: body.source == .restore, cancellation: settings.lookup.cancellation)
        let (settings, keep) = (settings, self.keep)
        return .whenLooked(request) { call, outcome in
            let found = try outcome.found?.news(beside: [admitted], on: call.connection)
            let items = posted.with(found, settings).looked(subject, outcome, isRestore: request.isRestore)
            return try keep(items, try ReceiptBody(call.json()), call)
        }
    }

    /// Of a receipt only what it lists is known before Apple was asked.
    private func resolve(_ bytes: [UInt8], _ body: ReceiptBody, _ call: APICall) throws -> APIAnswer {
        let receipt = try receipts.verify(bytes).mapError(APIError.init).get()
        guard let app = settings.apps.id(ofBundleID: receipt.bundleID) else {
            throw APIError.invalidReceipt("The receipt is not valid here: no app with its bundle id is configured.")
        }
        if let own = call.key?.app, own != app { throw APIError(TransactionAdmission.Rejection.otherApp) }
        // Nothing was bought: there is nothing to ask.
        guard let first = receipt.newest.first else { return try keep(PostedItems(isAlone: true), body, call) }
        guard let lookup = settings.lookup.accounts(in: app) else {
            throw APIError.invalidReceipt(
                "App receipts can only be read with Apple's Server API: give the app \(app) a server_api in the"
                    + " configuration, or let the app use StoreKit 2, which posts signed transactions.")
        }
        let choice = EnvironmentChoice(receipt)
        // One that is not taken here is answered with what is known.
        guard let environment = lookup.client.app.environment(of: choice) else {
            return try keep(PostedItems(isAlone: true), body, call)
        }
        let listed = ReceiptRoutes.listed(receipt, AppScope(app: app, environment: environment))
        let subject = AccountLookTable.Subject(
            key: listed[0].key, transactionID: first.transactionID, account: nil)
        // A receipt may list what was bought since.
        if let age = try AccountLookTable.age(of: subject, on: call.connection), age < ReceiptRoutes.freshness,
            try FactTable.knowsAll(listed.map { ($0.key, $0.transactionID) }, on: call.connection)
        {
            return try keep(PostedItems(listed: listed), body, call)
        }
        let others = Set(receipt.newest.map(\.transactionID))
        let request = AccountLooks.Request(
            account: AccountKey(of: subject.key, account: nil),
            question: AccountLookup.Question(id: first.transactionID, in: choice, others: others), lookup: lookup,
            isRestore: body.source == .restore, cancellation: settings.lookup.cancellation)
        let (settings, keep) = (settings, self.keep)
        return .whenLooked(request) { call, outcome in
            let found = try outcome.found?.news(beside: [], on: call.connection)
            // What is not known to be of one environment cannot be asked for later.
            if found == nil, choice == .productionThenSandbox, lookup.client.app.environments.count > 1 {
                throw CustomerActions.Rejection.unheard
            }
            let place = AppScope(app: app, environment: found?.environment ?? environment)
            let listed = ReceiptRoutes.listed(receipt, place)
            let subject = AccountLookTable.Subject(
                key: listed[0].key, transactionID: first.transactionID, account: nil)
            let items = PostedItems(listed: listed).with(found, settings).looked(
                subject, outcome, asked: others, isRestore: request.isRestore)
            return try keep(items, try ReceiptBody(call.json()), call)
        }
    }

    /// An account that was looked through so lately is not asked about again, in ms.
    private static let freshness: Int64 = 60_000

    private static func listed(_ receipt: ReceiptPayload, _ place: AppScope) -> [CustomerActions.Posted] {
        receipt.newest.map { purchase in
            CustomerActions.Posted(
                key: PurchaseKey(
                    app: place.app, environment: place.environment,
                    originalTransactionID: purchase.originalTransactionID),
                transactionID: purchase.transactionID, purchased: purchase.purchased)
        }
    }

    // MARK: - Keeping

    @Sendable private func keep(_ items: PostedItems, _ body: ReceiptBody, _ call: APICall) throws -> APIAnswer {
        let id = body.appUserID
        let app = try body.appTransaction.flatMap { try appTransaction($0, body, call) }
        let posted = items.posted(settings) { body.context(of: $0) }
        // Before the purchase: its first event tells them.
        let faults = try body.attributes.map { try settings.actions.setAttributes($0, of: id, on: call.connection) }
        let posting = try settings.actions.post(
            posted, found: items.rest, and: items.states, look: items.look, by: id, sequence: settings.sequence,
            clock: settings.clock,
            terms: CustomerActions.PostTerms(settings: settings.restoring, source: body.source, isAlone: items.isAlone),
            on: call.connection)
        if let app { try AppPurchaseTable.note(app, of: id, on: call.connection) }
        let (answers, actions, errors) = (answers, settings.actions, faults.flatMap(AttributeErrors.error))
        return settings.whenApplied(posting.places) { call in
            if let refusal = try actions.refusal(posting.claimed, by: id, on: call.connection) { throw refusal }
            return try answers.answer(call, of: id, attributeErrors: errors)
        }
    }

    /// Beside a purchase one that is not right is left out: it is not worth the purchase.
    private func appTransaction(
        _ text: String, _ body: ReceiptBody, _ call: APICall
    ) throws -> AppTransactionPayload? {
        switch settings.admission.admitAppTransaction(text, of: call.key?.app) {
        case .success(let payload):
            // A token beside it names the account.
            if body.fetchToken == nil { call.request.countForAccount() }
            return payload
        case .failure(let refusal):
            guard body.fetchToken == nil else { return nil }
            throw PostedToken(text) == .xcode ? APIError.xcode : APIError(refusal)
        }
    }
}
