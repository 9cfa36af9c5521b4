import AppStore
import AppStoreAPI
import Base
import Crypto
import Daemon
import Database
import HTTP
import Subscriptions

/// Giving a subscriber some days for nothing, by Apple (Extend a Subscription Renewal Date).
///
/// It is done when it is answered; the customer in the answer may have the old end still, until Apple's notification
/// (RENEWAL_EXTENDED) comes, within seconds as a rule.
///
/// Apple cannot take it back, so a call that is sent again must not do it twice. Before it is asked, Apple is asked how
/// the subscription stands: an end that lies exactly so much later than the known one is that of an earlier call whose
/// answer was lost. What was extended by as much in the last two hours, as Apple's own news says, is a repetition too.
/// The request identifier follows from the period, its end, the days and the reason.
package struct ExtensionRoutes: Sendable {
    private let answers: SubscriberResponses
    private let foldSettings: FoldSettings
    private let apple: @Sendable (String) -> ServerAPIClient?
    private let clock: any WallClock
    /// Requests that are under way in this process.
    private let underWay = Monitor<Set<String>>([])

    private static let day: Int64 = 86_400_000
    private static let repetition: Int64 = 2 * 3_600_000
    /// From the arrival of a request on.
    private static let patience = Duration.seconds(20)

    /// - Parameter apple: the way to Apple for an app's id; nil for an app without one.
    package init(
        answers: SubscriberResponses, foldSettings: FoldSettings, clock: any WallClock,
        apple: @escaping @Sendable (String) -> ServerAPIClient?
    ) {
        self.answers = answers
        self.foldSettings = foldSettings
        self.clock = clock
        self.apple = apple
    }

    package var routes: [APIRoute] {
        [
            APIRoute(
                "POST", "/v1/subscribers/{app_user_id}/subscriptions/{store_transaction_id}/extend",
                .secretKey(.write), extend)
        ]
    }

    /// A subscription as it is known, and what it is to get.
    private struct Order: Sendable {
        let key: PurchaseKey
        let transactionID: String
        let expires: Int64
        let extra: RenewalExtension

        var newEnd: Int64 { expires + extra.days * ExtensionRoutes.day }
    }

    private func extend(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        let body = try call.json()
        let days = try ExtensionRoutes.number("extend_by_days", 1...RenewalExtension.longest, body)
        let code = try ExtensionRoutes.number("extend_reason_code", 0...3, body)
        let reason = RenewalExtension.Reason(rawValue: code) ?? .undeclared
        let purchase = try purchase(call, of: id)
        guard let client = apple(purchase.key.app) else {
            throw APIError.badRequest(
                "The app \(purchase.key.app) has no server_api in the configuration, so Apple cannot be queried.")
        }
        guard purchase.isRenewable, let expires = purchase.latest.transaction.expiresDate else {
            throw APIError.badRequest("Only a subscription that renews can be extended.")
        }
        if try wasExtended(purchase, days, call) { return try answers.answer(call, of: id) }
        let order = Order(
            key: purchase.key, transactionID: purchase.latest.id, expires: expires,
            extra: RenewalExtension(
                days: days, reason: reason,
                requestIdentifier: ExtensionRoutes.identifier(purchase.key, purchase.latest.id, expires, days, code)))
        let options = CallOptions(within: max(.zero, call.request.arrived + ExtensionRoutes.patience - .now))
        return .outside {
            try place(order, client, options)
            return { call in try answers.answer(call, of: id) }
        }
    }

    private static func number(_ name: String, _ allowed: ClosedRange<Int64>, _ body: JSON) throws -> Int64 {
        guard let value = body[name]?.intValue, allowed.contains(value) else {
            throw APIError.badRequest(
                "\(name) must be a whole number from \(allowed.lowerBound) to \(allowed.upperBound).")
        }
        return value
    }

    private static func identifier(
        _ key: PurchaseKey, _ transactionID: String, _ expires: Int64, _ days: Int64, _ reason: Int64
    ) -> String {
        let name = "extension|\(key.app)|\(key.environment.rawValue)|\(transactionID)|\(expires)|\(days)|\(reason)"
        return EventID.uuid(of: Digest.sha256(Array(name.utf8))).lowercased()
    }

    /// The customer's subscription that has this transaction or original transaction id.
    private func purchase(_ call: APICall, of id: String) throws -> Purchase {
        let wanted = try call.parameter("store_transaction_id")
        let ids = try CustomerTable.load([id], on: call.connection)[id]?.appUserIDs ?? []
        let keys = try PurchaseTable.owned(by: ids, on: call.connection).filter { !$0.isGrant }
        let purchases = zip(keys, try FactTable.load(keys, on: call.connection)).compactMap {
            Purchase(folding: $1, key: $0, foldSettings: foldSettings)
        }
        guard
            let found = purchases.first(where: {
                $0.key.originalTransactionID == wanted || $0.identifiers.contains(wanted)
            })
        else {
            throw APIError.notFound("\(id) has no subscription with the transaction \(wanted).")
        }
        return found
    }

    private func wasExtended(_ purchase: Purchase, _ days: Int64, _ call: APICall) throws -> Bool {
        let facts = try FactTable.load([purchase.key], on: call.connection).first ?? PurchaseFacts()
        let since = clock.now() - ExtensionRoutes.repetition
        return PurchaseHistory(of: facts).extensions.contains {
            $0.transactionID == purchase.latest.id && $0.to - $0.from == days * ExtensionRoutes.day && $0.signed > since
        }
    }

    // MARK: - Asking Apple

    private func place(_ order: Order, _ client: ServerAPIClient, _ options: CallOptions) throws {
        let name = order.extra.requestIdentifier
        guard underWay.change({ $0.insert(name).inserted }) else {
            throw APIError(409, code: 7638, "The same extension is in progress.")
        }
        defer { underWay.change { _ = $0.remove(name) } }
        do throws(ServerAPIError) {
            let states = try client.subscriptions(
                of: order.key.originalTransactionID, in: .only(order.key.environment), options
            ).answer
            let state = states.first { $0.originalTransactionID == order.key.originalTransactionID }
            if let known = state?.transaction.payload, known.transactionId == order.transactionID,
                known.expiresDate == order.newEnd
            {
                return
            }
            let result = try client.extendRenewal(
                of: order.key.originalTransactionID, order.extra, in: order.key.environment, options)
            if result.isDone { return }
        } catch {
            throw ExtensionRoutes.answer(to: error)
        }
        throw APIError.badRequest("Apple did not extend the subscription and gave no reason.")
    }

    /// What Apple refuses is refused; whatever else is wrong may be right later.
    private static func answer(to error: ServerAPIError) -> APIError {
        switch error {
        case .refused(let refusal) where !refusal.isRetryable:
            refusal.status == 404 ? .notFound("\(error).") : .badRequest("\(error).")
        default: .unavailable("\(error).")
        }
    }
}
