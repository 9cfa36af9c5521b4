import Base
import HTTP
import Subscriptions

/// The installation as REST v2 sees it: one project, its entitlements, by which callers find the names of ids, and its
/// offerings.
struct V2ProjectRoutes: Sendable {
    let document: V2Document
    let offerings: OfferingCatalogue

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
            APIRoute("GET", "/v2/projects/{project_id}/offerings", .secretKey(.read)) { call in
                let project = try call.project()
                let list = try V2List(
                    call, url: "\(V2Place.url(ofProject: project))/offerings", filters: ["expand"])
                return try list.page(of: try offerings(project, "items.package", call))
            },
            APIRoute("GET", "/v2/projects/{project_id}/offerings/{offering_id}", .secretKey(.read)) { call in
                let (project, id) = (try call.project(), try call.parameter("offering_id"))
                guard let found = try offerings(project, "package", call).first(where: { $0.id == id }) else {
                    throw APIError.notFound("There is no offering \(id).", parameter: "offering_id")
                }
                return .response(.document(200, found.json))
            },
        ]
    }

    /// - Parameter packages: how `expand` asks for packages.
    private func offerings(_ project: String, _ packages: String, _ call: APICall) throws -> [V2Document.Item] {
        let expanded = try V2List.fields(call)["expand"]?.split(separator: ",") ?? []
        return V2Document.offerings(
            offerings, project: project,
            showsPackages: expanded.contains { $0 == packages || $0 == "\(packages).product" })
    }
}
