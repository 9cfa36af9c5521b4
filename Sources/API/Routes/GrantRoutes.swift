import Base
import Customers
import Database
import HTTP
import Subscriptions

/// Entitlements that the seller gives without the store, and takes back.
///
/// Both are done when they are answered. Consumers get the events of RevenueCat's "promotional" purchases; endpoints that
/// want only some apps do not, because a grant is of no app.
package struct GrantRoutes: Sendable {
    private let answers: SubscriberResponses
    /// Those of the configuration.
    private let entitlements: Set<String>
    private let foldSettings: FoldSettings

    package init(answers: SubscriberResponses, entitlements: Set<String>, foldSettings: FoldSettings) {
        self.answers = answers
        self.entitlements = entitlements
        self.foldSettings = foldSettings
    }

    private static let path = "/v1/subscribers/{app_user_id}/entitlements/{entitlement_identifier}"

    package var routes: [APIRoute] {
        [
            APIRoute("POST", "\(GrantRoutes.path)/promotional", .secretKey(.write)) { call in
                let (id, entitlement) = (try call.appUserID(), try entitlement(call))
                _ = try actions.grant(entitlement, to: id, try GrantRoutes.term(call.json()), on: call.connection)
                return try answers.answer(call, of: id, status: 201)
            },
            APIRoute("POST", "\(GrantRoutes.path)/revoke_promotionals", .secretKey(.write)) { call in
                // What was granted can be taken back also when the entitlement is configured no more.
                let (id, entitlement) = (try call.appUserID(), try call.parameter("entitlement_identifier"))
                let revocation = try actions.revoke(entitlement, from: id, on: call.connection)
                if revocation.grants.isEmpty, !entitlements.contains(entitlement) { throw unknown(entitlement) }
                return try answers.answer(call, of: id)
            },
        ]
    }

    private var actions: CustomerActions {
        CustomerActions(origin: ActionTable.Origin(actor: "api"), foldSettings: foldSettings)
    }

    private func entitlement(_ call: APICall) throws -> String {
        let entitlement = try call.parameter("entitlement_identifier")
        guard entitlements.contains(entitlement) else { throw unknown(entitlement) }
        return entitlement
    }

    private func unknown(_ entitlement: String) -> APIError {
        let known = entitlements.sorted().joined(separator: ", ")
        return .notFound(
            "There is no entitlement \(entitlement); there \(known.isEmpty ? "are none" : "are: \(known)") (entitlements in the"
                + " configuration).")
    }

    /// `end_time_ms`, or `duration` with or without `start_time_ms`; of both the end counts, as with RevenueCat.
    static func term(_ body: JSON) throws -> GrantTerm {
        if let end = try instant("end_time_ms", body) { return .until(end) }
        let start = try instant("start_time_ms", body)
        guard let word = try body.optionalText("duration") else {
            throw APIError.badRequest("Give either end_time_ms or duration.")
        }
        guard let duration = GrantDuration(rawValue: word) else {
            let words = GrantDuration.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError.badRequest("duration must be one of \(words).")
        }
        return .lasting(duration, from: start)
    }

    private static func instant(_ name: String, _ body: JSON) throws -> Int64? {
        switch body[name] {
        case nil, .null: return nil
        case .int(let value): return value
        default: throw APIError.badRequest("\(name) must be a whole number of milliseconds since 1970.")
        }
    }
}
