import Base
import Customers
import Database
import Subscriptions

/// Previews of changes that tell Apple something, or ask it for something.
extension DatabaseDesk {
    func answering(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let app = parameters["app"]?.stringValue ?? ""
        let request = try refund(
            parameters["transaction"]?.stringValue ?? "", app: app, environment: environment(parameters))
        func state(_ state: RefundRequest.State, _ answer: JSON?) -> JSON {
            .object([
                "state": .string(state.rawValue), "preference": answer?["preference"] ?? .null,
                "delivery": answer?["delivery"] ?? .null,
                // Apple counts thousandths of a per cent.
                "consumed_percent": .integer(answer?["consumed"]?.intValue.map { $0 / 1000 }),
                "deadline": .date(request.deadline),
            ])
        }
        var effect = ChangeEffect()
        effect.before = state(request.state, request.answer?.json)
        effect.after = state(.ready, parameters["answer"])
        if let objection = request.objection(at: now) {
            effect.refusal = "The question cannot be answered any more: \(objection)."
        } else if !settings.refundApps.contains(app) {
            effect.refusal =
                "No worker answers questions about refunds of this app: it needs refunds.policy and server_api in the"
                + " configuration."
        }
        if effect.refusal != nil { effect.after = effect.before }
        return effect
    }

    func extending(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let key = PurchaseKey(
            app: parameters["app"]?.stringValue ?? "", environment: environment(parameters),
            originalTransactionID: target)
        let purchase = try purchase(key).row.purchase
        let ends = purchase.latest.transaction.expiresDate
        var effect = ChangeEffect()
        effect.before = .object(["expires_at": .date(ends)])
        effect.after = effect.before
        guard let ends else {
            effect.refusal = "The purchase has no end that could be extended."
            return effect
        }
        guard settings.serverAPIApps.contains(key.app) else {
            effect.refusal = "The app has no key for Apple's Server API (server_api in the configuration)."
            return effect
        }
        let longer = (parameters["days"]?.intValue ?? 0) * 86_400_000
        effect.after = .object(["expires_at": .date(min(ends, .max - longer) + longer)])
        return effect
    }

    private static let keyless = "The app has no key for Apple's Server API (server_api in the configuration)."

    /// What Apple says is not known before it is asked.
    func polling(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let key = PurchaseKey(
            app: parameters["app"]?.stringValue ?? "", environment: environment(parameters),
            originalTransactionID: target)
        let purchase = try purchase(key).row.purchase
        var effect = ChangeEffect()
        effect.before = .object([
            "status": .string(purchase.status(at: now).rawValue),
            "signed_at": .date(purchase.latest.transaction.signedDate),
        ])
        if !settings.serverAPIApps.contains(key.app) { effect.refusal = DatabaseDesk.keyless }
        return effect
    }

    func lookingUp(_ target: String, _ parameters: JSON) -> ChangeEffect {
        let app = parameters["app"]?.stringValue
        let asked = settings.scopes.filter { scope in
            scope.environment == .production && settings.serverAPIApps.contains(scope.app)
                && (app == nil || app == scope.app)
        }
        var effect = ChangeEffect()
        effect.after = .object(["order_id": .string(target), "apps": .strings(asked.map(\.app))])
        if asked.isEmpty {
            effect.refusal =
                app == nil
                ? "No app with Production has a key for Apple's Server API (server_api in the configuration)."
                : DatabaseDesk.keyless
        }
        return effect
    }
}
