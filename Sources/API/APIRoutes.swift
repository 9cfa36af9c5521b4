import Base
import HTTPServer

/// The REST listener: finds the route of a request, checks who calls, and hands it to the engine.
package struct APIRoutes: HTTPHandler {
    package let routes: [APIRoute]
    private let keys: KeyTable
    private let engine: APIEngine

    package init(_ routes: [APIRoute], keys: KeyTable, engine: APIEngine) {
        self.routes = routes.sorted { $0.exactness > $1.exactness }
        self.keys = keys
        self.engine = engine
    }

    private struct Match {
        let route: APIRoute
        /// Decoded.
        let parameters: [String: String]
        let key: APIKey?
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        if APIRoutes.isLiveness(head) { return nil }
        if case .failure(let error) = match(head) { return error.response } else { return nil }
    }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if APIRoutes.isLiveness(request.head) {
            return responder.respond(
                .json(200, .object(["status": .string("ok"), "version": .string(Version.current)])))
        }
        switch match(request.head) {
        case .failure(let error): responder.respond(error.response)
        case .success(let match):
            engine.run(
                match.route.action, APIRequest(http: request, parameters: match.parameters, key: match.key), responder)
        }
    }

    /// For load balancers: whether the listener lives, whatever the database does.
    private static func isLiveness(_ head: HTTPRequestHead) -> Bool {
        head.path == "/healthz" && (head.method == "GET" || head.method == "HEAD")
    }

    private func match(_ head: HTTPRequestHead) -> Result<Match, APIError> {
        let parts = head.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
        let method = head.method == "HEAD" ? "GET" : head.method
        var allowed: Set<String> = []
        for route in routes {
            guard let encoded = route.parameters(of: parts) else { continue }
            guard route.method == method else {
                allowed.insert(route.method)
                continue
            }
            do {
                let key = try keys.admit(head, to: route.access)
                let parameters = try encoded.mapValues(APIRoutes.decode)
                return .success(Match(route: route, parameters: parameters, key: key))
            } catch let error as APIError {
                return .failure(error)
            } catch {
                return .failure(.pageNotFound)
            }
        }
        guard allowed.isEmpty else {
            return .failure(
                APIError(
                    405, code: APIError.badRequestCode,
                    "This path does not answer \(method); it answers \(allowed.sorted().joined(separator: ", "))."))
        }
        return .failure(.pageNotFound)
    }

    private static func decode(_ text: String) throws -> String {
        guard let decoded = PercentEncoding.decode(text) else {
            throw APIError.badRequest("The path is not percent-encoded UTF-8.")
        }
        return decoded
    }
}
