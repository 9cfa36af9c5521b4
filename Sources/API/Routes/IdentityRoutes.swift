import Base
import Customers
import Database
import HTTP
import Postgres
import Subscriptions

/// Who is who: logging in, joining, deleting, and whose a purchase may become.
package struct IdentityRoutes: Sendable {
    private let answers: SubscriberResponses
    private let restoring: RestoreEligibility
    private let deletion: DeletionPolicy
    private let foldSettings: FoldSettings

    /// - Parameter deletion: what becomes of what is stored about customers who are deleted.
    package init(
        answers: SubscriberResponses, restoring: RestoreEligibility, deletion: DeletionPolicy = .pseudonymise,
        foldSettings: FoldSettings
    ) {
        self.answers = answers
        self.restoring = restoring
        self.deletion = deletion
        self.foldSettings = foldSettings
    }

    package var routes: [APIRoute] {
        [
            APIRoute("POST", "/v1/subscribers/identify", .anyWritingKey, identify),
            APIRoute("POST", "/v1/subscribers/{app_user_id}/alias", .anyWritingKey, alias),
            APIRoute("POST", "/v1/subscribers/{app_user_id}/restore/eligibility", .anyKey, judge),
            APIRoute(
                "POST", "/v1/subscribers/{app_user_id}/restore_behavior", .secretKey(.write), setRestoreBehavior),
            APIRoute("DELETE", "/v1/subscribers/{app_user_id}", .secretKey(.write), delete),
        ]
    }

    private func actions(_ call: APICall) -> CustomerActions {
        CustomerActions(origin: call.origin, foldSettings: foldSettings)
    }

    /// 201 says that the id is new: SDKs tell apps so.
    private func identify(_ call: APICall) throws -> APIAnswer {
        let body = try call.json()
        let current = try APICall.appUserID(try body.text("app_user_id"))
        let new = try APICall.appUserID(try body.text("new_app_user_id"))
        let isNew = try actions(call).identify(current, as: new, on: call.connection)
        return try answers.answer(call, of: new, status: isNew ? 201 : 200)
    }

    /// Two persons are joined for backends only: a public key is in every copy of an app.
    private func alias(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        let other = try APICall.appUserID(try call.json().text("new_app_user_id"))
        let actions = actions(call)
        try actions.admit(id, on: call.connection)
        _ = try actions.alias(
            id, other, joinsPersons: call.isSecret, atMost: call.isSecret ? nil : CustomerActions.mostIDs,
            on: call.connection)
        // From now on the SDKs that call this use the other id.
        answers.recordUse(of: other, call)
        return .response(.document(200, .object([])))
    }

    private func judge(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        try APIError.checkSize(of: call)
        let token = try call.json().text("fetch_token")
        let isAllowed = try restoring.isAllowed(token, of: call.key?.app, to: id, actions(call), on: call.connection)
        // It judges nothing that is not verified.
        call.request.countForAccount()
        return .response(.document(200, .object(["is_purchase_allowed_by_restore_behavior": .bool(isAllowed)])))
    }

    private func setRestoreBehavior(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        guard case .some(let word) = try call.json()["restore_behavior"] else {
            throw APIError.badRequest("restore_behavior is missing.")
        }
        let behavior = word.stringValue.flatMap(RestoreBehavior.init(rawValue:))
        guard behavior != nil || word == .null else {
            let words = RestoreBehavior.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError.badRequest("restore_behavior must be one of \(words), or null for the configuration's.")
        }
        _ = try actions(call).setRestoreBehavior(behavior, of: id, on: call.connection)
        return try answers.answer(call, of: id)
    }

    private func delete(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        _ = try actions(call).delete(id, policy: deletion, on: call.connection)
        return .response(.document(200, .object(["app_user_id": .string(id), "deleted": .bool(true)])))
    }
}
