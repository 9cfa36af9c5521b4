import Base
import Customers
import Database
import HTTP
import Subscriptions

/// What backends do to customers by RevenueCat's REST v2: granting, taking back, and giving purchases to another customer.
struct V2ActionRoutes: Sendable {
    let answers: V2Answers
    /// Those of the configuration.
    let entitlements: Set<String>
    /// The same of apps, by their ids.
    let apps: Set<String>

    private static let path = "\(V2CustomerRoutes.path)/{customer_id}/actions"

    var routes: [APIRoute] {
        [
            APIRoute("POST", "\(Self.path)/grant_entitlement", .secretKey(.write), grant),
            APIRoute("POST", "\(Self.path)/revoke_granted_entitlement", .secretKey(.write), revoke),
            APIRoute("POST", "\(Self.path)/transfer", .secretKey(.write), transfer),
        ]
    }

    private func actions(_ call: APICall) -> CustomerActions {
        CustomerActions(origin: call.origin, foldSettings: answers.foldSettings)
    }

    private func grant(_ call: APICall) throws -> APIAnswer {
        let (place, body) = (try call.place(), try call.json())
        let entitlement = try call.text("entitlement_id", of: body)
        guard entitlements.contains(entitlement) else { throw unknown(entitlement) }
        guard let end = body["expires_at"]?.intValue else {
            throw APIError.badRequest(
                "expires_at must be a whole number of milliseconds since 1970.", parameter: "expires_at")
        }
        let id = try answers.knownID(place, call)
        do {
            _ = try actions(call).grant(entitlement, to: id, .until(end), makesCustomer: false, on: call.connection)
        } catch CustomerActions.Rejection.ungrantable(let why) {
            throw APIError.badRequest("The grant \(why).", parameter: "expires_at")
        }
        return try answers.answer(place, call, status: 201)
    }

    /// What was granted can be taken back also when the entitlement is configured no more.
    private func revoke(_ call: APICall) throws -> APIAnswer {
        let place = try call.place()
        let entitlement = try call.text("entitlement_id", of: try call.json())
        let id = try answers.knownID(place, call)
        let revocation = try actions(call).revoke(entitlement, from: id, on: call.connection)
        if revocation.grants.isEmpty, !entitlements.contains(entitlement) { throw unknown(entitlement) }
        return try answers.answer(place, call)
    }

    private func unknown(_ entitlement: String) -> APIError {
        let known = entitlements.sorted().joined(separator: ", ")
        return .notFound(
            "There is no entitlement \(entitlement); there \(known.isEmpty ? "are none" : "are: \(known)") (entitlements in the"
                + " configuration).", parameter: "entitlement_id")
    }

    private func transfer(_ call: APICall) throws -> APIAnswer {
        let (place, body) = (try call.place(), try call.json())
        let target = V2Place(
            project: place.project,
            customer: try APICall.appUserID(try call.text("target_customer_id", of: body)))
        let apps = try wanted(body)
        let source = try answers.customer(place, call)
        let receiver = try answers.customer(target, call, parameter: "target_customer_id")
        guard source.originalAppUserID != receiver.originalAppUserID else {
            throw APIError.badRequest(
                "target_customer_id names the same customer, who owns all of it already.",
                parameter: "target_customer_id")
        }
        // A customer of a mistyped id would get everything.
        _ = try actions(call).transfer(
            from: source.originalAppUserID, to: receiver.originalAppUserID, apps: apps, makesCustomer: false,
            on: call.connection)
        return .response(
            .document(
                200,
                .object([
                    // RevenueCat: the source as it was before, and the target as it is after.
                    "source_customer": answers.json(place, source),
                    "target_customer": answers.json(target, try answers.customer(target, call)),
                ])))
    }

    /// `app_ids`; nil: all apps.
    private func wanted(_ body: JSON) throws -> Set<String>? {
        guard let list = body["app_ids"], list != .null else { return nil }
        let ids = list.arrayValue?.map(\.stringValue) ?? [nil]
        let named = Set(ids.compactMap { $0 })
        guard named.count == ids.count, named.isSubset(of: apps) else {
            throw APIError.badRequest(
                "app_ids must be a list of apps of the configuration, each once: \(apps.sorted().joined(separator: ", ")).",
                parameter: "app_ids")
        }
        return named
    }
}
