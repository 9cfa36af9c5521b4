import Base
import Database
import Subscriptions

/// Reads what an inquiry asks about. The role that writes it is not trusted: what is not exactly as the console writes it is
/// refused.
enum InquiryRequest {
    struct Refusal: Error {
        let sentence: String

        static let unreadable = Refusal(sentence: "The parameters of the question cannot be read.")
        static let noKey = Refusal(
            sentence: "The app has no key for Apple's Server API (server_api in the configuration).")
    }

    static func read(_ change: Change, _ look: InquiryLook) -> Result<Inquiry, Refusal> {
        let names: Set<String> = change.kind == .orderLookup ? ["app"] : ["app", "environment"]
        guard let members = (try? JSON(parsing: Array(change.parameters.utf8), deepest: 2))?.members,
            Set(members.map(\.name)).count == members.count,
            members.allSatisfy({ $0.name == ChangeVersions.member || names.contains($0.name) }),
            members.allSatisfy({ $0.value.stringValue != nil })
        else { return .failure(.unreadable) }
        let parameters = JSON.object(members)
        return change.kind == .orderLookup ? order(change, parameters, look) : purchase(change, parameters, look)
    }

    private static func purchase(
        _ change: Change, _ parameters: JSON, _ look: InquiryLook
    ) -> Result<Inquiry, Refusal> {
        guard let key = ChangeWork.purchase(change.target, parameters) else { return .failure(.unreadable) }
        guard !key.isGrant else { return .failure(Refusal(sentence: "A grant is not Apple's to know.")) }
        guard look.canAsk(key.app) else { return .failure(.noKey) }
        guard look.takes(key) else {
            return .failure(Refusal(sentence: "The configuration takes no \(key.environment.rawValue) of the app."))
        }
        return .success(.purchase(key))
    }

    private static func order(
        _ change: Change, _ parameters: JSON, _ look: InquiryLook
    ) -> Result<Inquiry, Refusal> {
        guard let id = OrderID(change.target) else {
            return .failure(Refusal(sentence: "The text is no order number of Apple's: those begin with M."))
        }
        if let app = parameters["app"]?.stringValue, !look.canAsk(app) { return .failure(.noKey) }
        let apps = (parameters["app"]?.stringValue).map { [$0] } ?? look.apps
        let asked = apps.filter(look.hasOrders)
        guard !asked.isEmpty else {
            return .failure(
                Refusal(
                    sentence: "No such app has Production and a key for Apple's Server API: Apple finds orders there."))
        }
        return .success(.order(id.text, apps: asked))
    }
}
