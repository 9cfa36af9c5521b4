import AppStore
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
        guard let token = body.fetchToken else { return try keep([], [], false, body, call) }
        switch PostedToken(token) {
        case .xcode: throw APIError.xcode
        case .unknown(let what):
            throw APIError.invalidReceipt(
                "fetch_token is not a receipt: it is \(what). It must be a StoreKit 2 transaction as Apple signed it (a JWS),"
                    + " or an app receipt in base64.")
        case .transaction(let jws):
            try APIError.checkSize(of: call)
            let admitted = try settings.door.admit(jws, of: call.key?.app).mapError(APIError.init).get()
            call.request.countForAccount()
            return try keep([admitted], [], false, body, call)
        case .receipt(let bytes):
            return try resolve(bytes, body, call)
        }
    }

    // MARK: - Receipts

    private func resolve(_ bytes: [UInt8], _ body: ReceiptBody, _ call: APICall) throws -> APIAnswer {
        let receipt = try receipts.verify(bytes).mapError(APIError.init).get()
        guard let app = settings.apps.id(ofBundleID: receipt.bundleID) else {
            throw APIError.invalidReceipt("The receipt is not valid here: no app with its bundle id is configured.")
        }
        if let own = call.key?.app, own != app { throw APIError(TransactionAdmission.Rejection.otherApp) }
        // Nothing was bought: there is nothing to ask.
        if receipt.purchases.isEmpty { return try keep([], [], true, body, call) }
        guard settings.lookup.apps.contains(app) else {
            throw APIError.invalidReceipt(
                "App receipts can only be read with Apple's Server API: give the app \(app) a server_api in the"
                    + " configuration, or let the app use StoreKit 2, which posts signed transactions.")
        }
        let (lookup, keep) = (settings.lookup, self.keep)
        let arrived = call.request.arrived
        return .outside(.receipt) {
            let found = try lookup.purchases(receipt, of: app, arrived: arrived)
            return { call in
                let news = try found?.news(on: call.connection)
                return try keep(
                    news?.transactions ?? [], news?.states.map(\.entry) ?? [], true,
                    try ReceiptBody(call.json()), call)
            }
        }
    }

    // MARK: - Keeping

    /// - Parameter isAlone: whether each transaction stands for its purchase alone.
    @Sendable private func keep(
        _ admitted: [TransactionAdmission.Admitted], _ states: [NewNotification], _ isAlone: Bool, _ body: ReceiptBody,
        _ call: APICall
    ) throws -> APIAnswer {
        let id = body.appUserID
        let app = try body.appTransaction.flatMap { try appTransaction($0, body, call) }
        let posted = admitted.compactMap { settings.posted($0) { body.context(of: $0) } }
        // Before the purchase: its first event tells them.
        let faults = try body.attributes.map { try settings.actions.setAttributes($0, of: id, on: call.connection) }
        let posting = try settings.actions.post(
            posted, and: states, by: id, sequence: settings.sequence, clock: settings.clock,
            terms: CustomerActions.PostTerms(settings: settings.restoring, source: body.source, isAlone: isAlone),
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
        switch settings.door.admitAppTransaction(text, of: call.key?.app) {
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
