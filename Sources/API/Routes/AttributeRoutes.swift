import Base
import Customers
import HTTP
import Subscriptions

/// What apps and backends say of customers.
package struct AttributeRoutes: Sendable {
    private let answers: SubscriberResponses
    private let foldSettings: FoldSettings

    package init(answers: SubscriberResponses, foldSettings: FoldSettings) {
        self.answers = answers
        self.foldSettings = foldSettings
    }

    package var routes: [APIRoute] {
        [
            APIRoute("POST", "/v1/subscribers/{app_user_id}/attributes", .anyWritingKey, write),
            APIRoute("POST", "/v1/subscribers/{app_user_id}/attribution", .anyWritingKey, attribute),
            APIRoute("POST", "/v1/subscribers/{app_user_id}/adservices_attribution", .anyWritingKey, acceptToken),
        ]
    }

    /// The customer is made if the id is new: an app may know something of a customer before it asks for them.
    private func write(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        let attributes = try call.json()["attributes"] ?? .null
        let faults = try CustomerActions(origin: call.origin, foldSettings: foldSettings).setAttributes(
            attributes, of: id, on: call.connection)
        if let error = AttributeErrors.error(faults) { throw error }
        return try answers.answer(call, of: id)
    }

    /// What old SDKs send, as far as it says something that attributes have a name for.
    private func attribute(_ call: APICall) throws -> APIAnswer {
        let id = try call.appUserID()
        let body = try call.json()
        guard let data = body["data"], data.members != nil else { throw APIError.badRequest("data is missing.") }
        let attributes = AttributionAttributes.attributes(data, network: body["network"])
        _ = try CustomerActions(origin: call.origin, foldSettings: foldSettings).setAttributes(
            attributes, of: id, on: call.connection)
        answers.recordUse(of: id, call)
        return .response(.document(200, .object([])))
    }

    /// Only Apple could say what a token stands for, and only within a day; nothing is kept of it.
    private func acceptToken(_ call: APICall) throws -> APIAnswer {
        _ = try call.appUserID()
        _ = try call.json().text("aad_attribution_token")
        return .response(.document(200, .object([])))
    }
}
