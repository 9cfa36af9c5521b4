import HTTP

/// Which web pages may ask (Fetch §3.2, CORS): none, unless the configuration names them.
///
/// Only for what public keys may do: a route that needs a secret key has no CORS headers, and a secret key that comes
/// from a page of another origin is refused on every route, because everybody who sees the page has it.
package struct CORSPolicy: Sendable {
    private let origins: Set<String>
    private var allowsAny: Bool { origins.contains("*") }

    /// - Parameter origins: as browsers send them; `*` for any.
    package init(_ origins: [String] = []) {
        self.origins = Set(origins)
    }

    /// Seconds for which browsers need not ask again; the longest that Chromium keeps.
    private static let maxAge = "7200"
    private static let exposed = "X-RevenueCat-ETag, X-RevenueCat-Request-Time, Retry-After"

    /// Whether a page of another origin than this host sent it. A backend sends no `Origin`.
    static func isForeign(_ head: HTTPRequestHead) -> Bool {
        guard let origin = head.header("origin") else { return false }
        guard let host = head.header("host"), let end = origin.firstRange(of: "://") else { return true }
        return origin[end.upperBound...] != host
    }

    /// What an answer to this request has to have.
    func headers(for head: HTTPRequestHead, _ access: APIAccess?) -> HTTPResponse.Headers {
        guard !origins.isEmpty else { return [] }
        if case .secretKey = access { return [] }
        // What caches keep depends on who asked, also where this one gets no header.
        let vary = allowsAny ? [] : [(name: "Vary", value: "Origin")]
        guard let origin = head.header("origin"), allowsAny || origins.contains(origin) else { return vary }
        return [
            (name: "Access-Control-Allow-Origin", value: allowsAny ? "*" : origin),
            (name: "Access-Control-Expose-Headers", value: CORSPolicy.exposed),
        ] + vary
    }

    /// The answer to a browser that asks before it sends; nil where this is none, or the page may not.
    ///
    /// - Parameter routes: what there is at the path.
    func preflight(_ head: HTTPRequestHead, _ routes: [APIRoute]) -> HTTPResponse? {
        guard head.method == "OPTIONS", let wanted = head.header("access-control-request-method"),
            head.header("origin") != nil
        else { return nil }
        let open = routes.filter { if case .secretKey = $0.access { false } else { true } }
        guard let route = open.first(where: { $0.method == wanted }) else { return nil }
        var headers = headers(for: head, route.access)
        guard headers.contains(where: { $0.name == "Access-Control-Allow-Origin" }) else { return nil }
        headers.append((name: "Access-Control-Allow-Methods", value: open.map(\.method).joined(separator: ", ")))
        // `*` would leave out Authorization.
        if let names = head.header("access-control-request-headers") {
            headers.append((name: "Access-Control-Allow-Headers", value: names))
        }
        headers.append((name: "Access-Control-Max-Age", value: CORSPolicy.maxAge))
        return HTTPResponse(status: 204, headers: headers)
    }
}
