/// Exact and prefix routes of a small listener. Paths are compared as they came, without decoding.
///
/// The longest route that fits wins, an exact one before a prefix; no route is 404, another method 405 with `Allow`.
package struct Router: HTTPHandler {
    package typealias Action = @Sendable (HTTPRequest, HTTPResponder) -> Void

    private struct Route: Sendable {
        let path: String
        let isPrefix: Bool
        var actions: [String: Action]

        func fits(_ candidate: String) -> Bool {
            isPrefix ? candidate.utf8.starts(with: path.utf8) : candidate == path
        }
    }

    private var routes: [Route] = []

    package init() {}

    /// Requests for exactly this path. GET also answers HEAD.
    package mutating func on(_ method: String, _ path: String, _ action: @escaping Action) {
        add(method, path, isPrefix: false, action)
    }

    /// Requests for every path that begins with this one.
    package mutating func on(_ method: String, prefix: String, _ action: @escaping Action) {
        add(method, prefix, isPrefix: true, action)
    }

    private mutating func add(_ method: String, _ path: String, isPrefix: Bool, _ action: @escaping Action) {
        if let known = routes.firstIndex(where: { $0.path == path && $0.isPrefix == isPrefix }) {
            routes[known].actions[method] = action
        } else {
            routes.append(Route(path: path, isPrefix: isPrefix, actions: [method: action]))
            // Those to be tried first stand first.
            routes.sort { ($0.isPrefix ? 0 : 1, $0.path.utf8.count) > ($1.isPrefix ? 0 : 1, $1.path.utf8.count) }
        }
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard let route = route(head.path) else {
            return .error(404, code: "not_found", message: "This path does not exist.")
        }
        guard Router.action(route, head.method) == nil else { return nil }
        var allowed = Set(route.actions.keys)
        if allowed.contains("GET") { allowed.insert("HEAD") }
        return .error(
            405, code: "method_not_allowed", message: "This path does not support this method.",
            headers: [("Allow", allowed.sorted().joined(separator: ", "))])
    }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if let refusal = refuse(request.head) {
            responder.respond(refusal)
        } else if let route = route(request.head.path), let action = Router.action(route, request.head.method) {
            action(request, responder)
        }
    }

    private func route(_ path: String) -> Route? { routes.first { $0.fits(path) } }

    private static func action(_ route: Route, _ method: String) -> Action? {
        route.actions[method] ?? (method == "HEAD" ? route.actions["GET"] : nil)
    }
}
