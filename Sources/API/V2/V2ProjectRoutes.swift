import Base
import HTTP
import Subscriptions

/// The installation as REST v2 sees it: one project, and its entitlements, by which callers find the names of ids.
struct V2ProjectRoutes: Sendable {
    let document: V2Document

    /// The id of the project in its list; requests may name any other.
    private static let id = "entitled"

    var routes: [APIRoute] {
        [
            APIRoute("GET", "/v2/projects", .secretKey(.read)) { call in
                let project: JSON = .object([
                    "created_at": .int(0), "id": .string(Self.id), "name": .string(Self.id),
                    "object": .string("project"),
                ])
                return try V2List(call, url: "/v2/projects").page(
                    of: [V2Document.Item(id: Self.id, json: project)])
            },
            APIRoute("GET", "/v2/projects/{project_id}/entitlements", .secretKey(.read)) { call in
                let project = try call.project()
                let list = try V2List(call, url: "\(V2Place.url(ofProject: project))/entitlements")
                return try list.page(of: document.entitlements(project: project))
            },
            APIRoute("GET", "/v2/projects/{project_id}/entitlements/{entitlement_id}", .secretKey(.read)) { call in
                let (project, id) = (try call.project(), try call.parameter("entitlement_id"))
                guard let found = document.entitlements(project: project).first(where: { $0.id == id }) else {
                    throw APIError.notFound("There is no entitlement \(id).", parameter: "entitlement_id")
                }
                return .response(.document(200, found.json))
            },
        ]
    }
}
