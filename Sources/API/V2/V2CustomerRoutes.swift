import Base
import Customers
import Database
import HTTP
import Subscriptions

/// Customers by RevenueCat's REST v2, as far as its callers use them: lists, what they have, and their attributes.
struct V2CustomerRoutes: Sendable {
    let answers: V2Answers
    let deletion: DeletionPolicy

    static let path = "/v2/projects/{project_id}/customers"
    private static let one = "\(path)/{customer_id}"

    var routes: [APIRoute] {
        [
            APIRoute("GET", Self.path, .secretKey(.read), list),
            APIRoute("POST", Self.path, .secretKey(.write), make),
            APIRoute("GET", Self.one, .secretKey(.read)) { call in
                let expanded = try V2List.fields(call)["expand"]?.split(separator: ",") ?? []
                return try answers.answer(try call.place(), call, showsAttributes: expanded.contains("attributes"))
            },
            APIRoute("DELETE", Self.one, .secretKey(.write), delete),
            APIRoute("GET", "\(Self.one)/active_entitlements", .secretKey(.read)) { call in
                try list(call, "active_entitlements") { found, _ in
                    answers.document.activeEntitlements(
                        of: found.profile(showsAttributes: false), found.snapshots, now: answers.clock.now())
                }
            },
            APIRoute("GET", "\(Self.one)/subscriptions", .secretKey(.read)) { call in
                let environment = try environment(call)
                return try list(call, "subscriptions", filters: ["environment"]) { found, place in
                    answers.document.subscriptions(
                        of: found.profile(showsAttributes: false), try answers.purchases(found, in: environment, call),
                        in: environment, at: place, now: answers.clock.now())
                }
            },
            APIRoute("GET", "\(Self.one)/purchases", .secretKey(.read)) { call in
                let environment = try environment(call)
                return try list(call, "purchases", filters: ["environment"]) { found, place in
                    answers.document.purchases(
                        of: found.profile(showsAttributes: false), try answers.purchases(found, in: environment, call),
                        in: environment, at: place)
                }
            },
            APIRoute("GET", "\(Self.one)/aliases", .secretKey(.read)) { call in
                try list(call, "aliases") { found, _ in
                    try CustomerTable.named(found.originalAppUserID, on: call.connection).map { id, since in
                        V2Document.Item(
                            id: id,
                            json: .object([
                                "created_at": .int(since), "id": .string(id), "object": .string("customer.alias"),
                            ]))
                    }
                }
            },
            APIRoute("GET", "\(Self.one)/attributes", .secretKey(.read)) { call in
                try list(call, "attributes") { found, _ in V2Document.attributes(found.attributes) }
            },
            APIRoute("POST", "\(Self.one)/attributes", .secretKey(.write), setAttributes),
        ]
    }

    /// A list of what one customer has.
    private func list(
        _ call: APICall, _ name: String, filters: [String] = [],
        _ items: (SubscriberQuery.Found, V2Place) throws -> [V2Document.Item]
    ) throws -> APIAnswer {
        let place = try call.place()
        let list = try V2List(call, url: "\(place.url)/\(name)", filters: filters)
        return try list.page(of: try items(try answers.customer(place, call), place))
    }

    private func environment(_ call: APICall) throws -> StoreEnvironment? {
        guard let text = try V2List.fields(call)["environment"] else { return nil }
        guard let environment = StoreEnvironment.allCases.first(where: { $0.rawValue.lowercased() == text }) else {
            throw APIError.badRequest("environment must be production or sandbox.", parameter: "environment")
        }
        return environment
    }

    // MARK: - Customers

    /// By their original ids, in the order of those.
    private func list(_ call: APICall) throws -> APIAnswer {
        let project = try call.project()
        let url = "\(V2Place.url(ofProject: project))/customers"
        let list = try V2List(call, url: url)
        guard try V2List.fields(call)["search"] == nil else {
            throw APIError.badRequest(
                "Customers cannot be searched here by an attribute; `entitled customers list` does that.",
                parameter: "search")
        }
        let page = try CustomerTable.page(after: list.after, limit: list.limit + 1, on: call.connection)
        return list.answer(
            page.map { customer in
                let place = V2Place(project: project, customer: customer.originalAppUserID)
                return V2Document.Item(
                    id: customer.originalAppUserID,
                    json: V2Document.customer(
                        place, firstSeen: customer.firstSeen, lastSeen: customer.lastSeen ?? customer.firstSeen))
            })
    }

    private func make(_ call: APICall) throws -> APIAnswer {
        let body = try call.json()
        let id = try APICall.appUserID(try call.text("id", of: body))
        let place = V2Place(project: try call.project(), customer: id)
        if let why = AppUserID.objection(toNew: id) { throw APIError.unusable(why) }
        let attributes = try V2CustomerRoutes.attributes(body, isNeeded: false)
        if let attributes {
            let none = CustomerAttributes()
            try refuse(
                AttributePolicy.decide(attributes, known: none, own: none, now: answers.clock.now())?.faults ?? [])
        }
        // A UUID in another case would be another spelling of the customer who is there.
        guard try answers.responses.read(call, of: id, isUsed: false, respells: true) == nil,
            try actions(call).make(id, attributes: attributes, on: call.connection)
        else {
            throw APIError(
                409, code: APIError.badRequestCode, "A customer with the id \(id) exists already.", parameter: "id")
        }
        return try answers.answer(place, call, status: 201, showsAttributes: attributes != nil)
    }

    private func delete(_ call: APICall) throws -> APIAnswer {
        let place = try call.place()
        let id = try answers.knownID(place, call)
        _ = try actions(call).delete(id, policy: deletion, on: call.connection)
        return .response(
            .document(
                200,
                .object([
                    "deleted_at": .int(answers.clock.now()), "id": .string(place.customer),
                    "object": .string("customer"),
                ])))
    }

    private func actions(_ call: APICall) -> CustomerActions {
        CustomerActions(origin: call.origin, foldSettings: answers.foldSettings)
    }

    // MARK: - Attributes

    private func setAttributes(_ call: APICall) throws -> APIAnswer {
        let place = try call.place()
        let attributes = try V2CustomerRoutes.attributes(try call.json(), isNeeded: true) ?? .object([])
        let id = try answers.knownID(place, call)
        try refuse(
            try actions(call).setAttributes(
                attributes, of: id, makesCustomer: false, takesPart: false, on: call.connection) ?? [])
        let found = try answers.customer(place, call)
        return .response(
            .document(
                200,
                V2Document.list(
                    V2Document.attributes(found.attributes).map(\.json), url: "\(place.url)/attributes")))
    }

    /// In one request: more than a customer can have.
    private static let mostAttributes = 200

    /// `[{"name", "value"}]` of a body, as REST v1 has it: `{name: {"value"}}`.
    private static func attributes(_ body: JSON, isNeeded: Bool) throws -> JSON? {
        let wrong = APIError.badRequest(
            "attributes must be a list of {\"name\": string, \"value\": string or null}, each name once.",
            parameter: "attributes")
        guard let list = body["attributes"] else {
            if isNeeded { throw wrong }
            return nil
        }
        let items = list.arrayValue ?? [.null]
        guard items.count <= mostAttributes else {
            throw APIError.badRequest(
                "attributes has more than \(mostAttributes) items.", parameter: "attributes")
        }
        var (members, names): ([JSON.Member], Set<String>) = ([], [])
        for item in items {
            guard let name = item["name"]?.stringValue, let value = item["value"],
                value == .null || value.stringValue != nil, names.insert(name).inserted
            else { throw wrong }
            members.append(JSON.Member(name: name, value: .object(["value": value])))
        }
        return .object(members)
    }

    private func refuse(_ faults: [AttributePolicy.Fault]) throws {
        guard !faults.isEmpty else { return }
        let reasons = faults.map { "\($0.key): \($0.message)" }.joined(separator: " ")
        throw APIError.badRequest("Some attributes cannot be saved. \(reasons)", parameter: "attributes")
    }
}
