import Base
import Daemon
import HTTP

/// The REST listener: finds the route of a request, checks who calls, and hands it to the engine.
package struct APIRoutes: HTTPHandler {
    package let routes: [APIRoute]
    /// The same by how many segments their paths have.
    private let bySegments: [Int: [APIRoute]]
    private let keys: KeyTable
    private let refresher: KeyRefresher?
    private let cors: CORSPolicy
    private let engine: RequestExecutor
    private let limiter: RequestLimiter?
    private let metrics: Metrics
    private let tracer: Tracer
    private let written: (@Sendable (Set<String>) -> Void)?

    /// - Parameters:
    ///   - refresher: looks up unknown keys in the database; nil: there are none but those of the table.
    ///   - limiter: nil: nothing is limited, and all requests share all threads.
    ///   - written: is told of the app user ids that a request named which may have changed something, before its answer.
    package init(
        _ routes: [APIRoute], keys: KeyTable, refresher: KeyRefresher? = nil, cors: CORSPolicy = CORSPolicy(),
        engine: RequestExecutor, limiter: RequestLimiter? = nil, metrics: Metrics = Metrics(),
        tracer: Tracer = .off,
        written: (@Sendable (Set<String>) -> Void)? = nil
    ) {
        self.routes = routes.sorted { $0.exactness > $1.exactness }
        bySegments = Dictionary(grouping: self.routes, by: \.segmentCount)
        self.keys = keys
        self.refresher = refresher
        self.cors = cors
        self.engine = engine
        self.limiter = limiter
        self.metrics = metrics
        self.tracer = tracer
        self.written = written
        for route in routes.map(\.path) + ["none"] {
            for status in ["500", "503"] { metrics.begin(.apiAnswers, ["route": route, "status": status]) }
        }
        // One series for all routes that nothing was asked of: a histogram for each would be many.
        metrics.beginHistogram(.apiSeconds, ["route": "none"])
        guard limiter != nil else { return }
        for route in routes {
            metrics.begin(.apiLimited, ["limit": LimitKind.publicKey.rawValue, "route": route.path])
        }
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        if APIRoutes.isLiveness(head) { return nil }
        if head.method == "OPTIONS", let preflight = cors.preflight(head, at(head.path)) { return preflight }
        let (route, outcome) = match(head)
        let refusal: HTTPResponse? =
            switch outcome {
            case .refused(let error): allowed(error.response(to: head), head, route)
            // It is looked for when the body is there: this must not wait.
            case .unfamiliar: hopeless.map { allowed($0.response(to: head), head, route) }
            case .matched: nil
            }
        if let refusal { count(refusal, route) }
        return refusal
    }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if APIRoutes.isLiveness(request.head) {
            return responder.respond(
                .json(200, .object(["status": .string("ok"), "version": .string(Version.current)])))
        }
        let (route, outcome) = match(request.head)
        let began = ContinuousClock.now
        let span = RequestSpan(request.head, tracer)
        let responder = HTTPResponder { [self] response in
            span?.end(response.status, route?.path)
            responder.respond(allowed(response, request.head, route))
            count(response, route)
            if let route { metrics.observe(.apiSeconds, .now - began, ["route": route.path]) }
        }
        switch outcome {
        case .refused(let error): responder.respond(error.response(to: request.head))
        case .matched(let match): run(match, request, responder)
        case .unfamiliar:
            guard let refresher else { return responder.respond(KeyTable.invalid.response(to: request.head)) }
            if let limiter, let route,
                let refusal = limiter.admit(
                    LimitedRequest(unknownKey: request, to: route, limiter.settings.proxies))
            {
                return responder.respond(refusal.response(to: request.head))
            }
            let isWaiting = refresher.look { [self] look in
                switch (match(request.head).outcome, look) {
                case (.matched(let match), _): run(match, request, responder)
                case (.refused(let error), _): responder.respond(error.response(to: request.head))
                case (.unfamiliar, .done):
                    keys.noteUnknown(request.head)
                    responder.respond(KeyTable.invalid.response(to: request.head))
                case (.unfamiliar, .failed):
                    responder.respond(
                        APIError.unavailable("The database is unavailable, so the API key cannot be checked.")
                            .response(to: request.head))
                }
            }
            if !isWaiting { responder.respond(APIRoutes.tooManyUnknown.response(to: request.head)) }
        }
    }

    private static let tooManyUnknown = APIError.unavailable("Too many requests with unknown keys.")

    /// Why a key that is not in the table need not be looked for; nil: it is to be.
    private var hopeless: APIError? {
        guard let refresher else { return KeyTable.invalid }
        return refresher.isFull ? APIRoutes.tooManyUnknown : nil
    }

    private func count(_ response: HTTPResponse, _ route: APIRoute?) {
        metrics.count(.apiAnswers, ["route": route?.path ?? "none", "status": String(response.status)])
    }

    private func run(_ match: Match, _ request: HTTPRequest, _ responder: HTTPResponder) {
        guard let limiter else {
            return perform(
                APIRequest(http: request, parameters: match.parameters, key: match.key), match.route, responder)
        }
        let limited = LimitedRequest(
            request, to: match.route, parameters: match.parameters, key: match.key, limiter.settings.proxies)
        if let refusal = limiter.admit(limited) { return responder.respond(refusal.response(to: request.head)) }
        let settling = HTTPResponder { response in
            limiter.settle(limited, response)
            responder.respond(response)
        }
        let admitted = APIRequest(
            http: request, parameters: match.parameters, key: match.key, share: limited.share
        ) { limiter.countForAccount(limited) }
        perform(admitted, match.route, settling)
    }

    private func perform(_ request: APIRequest, _ route: APIRoute, _ responder: HTTPResponder) {
        var responder = responder
        if let written, route.method != "GET" {
            let (ids, next) = (request.namedCustomers, responder)
            responder = HTTPResponder { response in
                written(ids.union(APIRoutes.customers(in: response)))
                next.respond(response)
            }
        }
        switch route.work {
        case .call(let action): engine.run(action, request, responder)
        case .gathered(let gathering): gathering.take(request, responder)
        }
    }

    /// The customer of an answer: a purchase that was posted may be of another one than the request names.
    private static func customers(in response: HTTPResponse) -> Set<String> {
        guard response.status < 300, let document = try? JSON(parsing: response.body) else { return [] }
        let named = [document["subscriber"], document["customer"]].compactMap {
            $0?["original_app_user_id"]?.stringValue
        }
        return Set(named)
    }

    private func allowed(_ response: HTTPResponse, _ head: HTTPRequestHead, _ route: APIRoute?) -> HTTPResponse {
        // Who asks before sending, and gets here, may not.
        guard head.method != "OPTIONS" else { return response }
        var response = response
        response.headers += cors.headers(for: head, route?.access)
        return response
    }

    /// For load balancers: whether the listener lives, whatever the database does.
    private static func isLiveness(_ head: HTTPRequestHead) -> Bool {
        head.path == "/healthz" && (head.method == "GET" || head.method == "HEAD")
    }

    // MARK: - Finding the route

    private struct Match {
        let route: APIRoute
        /// Decoded.
        let parameters: [String: String]
        let key: APIKey?
    }

    private enum Outcome {
        case matched(Match)
        case refused(APIError)
        /// The key is unknown.
        case unfamiliar
    }

    private static func parts(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }

    private func at(_ path: String) -> [APIRoute] {
        let parts = APIRoutes.parts(of: path)
        return (bySegments[parts.count] ?? []).filter { $0.parameters(of: parts) != nil }
    }

    /// The route that is meant, if there is one, and whether it may be called.
    private func match(_ head: HTTPRequestHead) -> (route: APIRoute?, outcome: Outcome) {
        let parts = APIRoutes.parts(of: head.path)
        let method = head.method == "HEAD" ? "GET" : head.method
        var allowed: Set<String> = []
        for route in bySegments[parts.count] ?? [] {
            guard let encoded = route.parameters(of: parts) else { continue }
            guard route.method == method else {
                allowed.insert(route.method)
                continue
            }
            return (route, match(route, encoded, head))
        }
        guard allowed.isEmpty else {
            if allowed.contains("GET") { allowed.insert("HEAD") }
            let methods = allowed.sorted()
            return (
                nil,
                .refused(
                    APIError(
                        405, code: APIError.badRequestCode,
                        "This path does not support \(method); it answers \(methods.joined(separator: ", ")).",
                        allowed: methods))
            )
        }
        return (nil, .refused(.pageNotFound))
    }

    private func match(_ route: APIRoute, _ encoded: [String: String], _ head: HTTPRequestHead) -> Outcome {
        do throws(APIError) {
            switch try keys.admit(head, to: route.access) {
            case .unfamiliar: return .unfamiliar
            case .admitted(let key):
                var parameters: [String: String] = [:]
                for (name, text) in encoded { parameters[name] = try APIRoutes.decode(text) }
                return .matched(Match(route: route, parameters: parameters, key: key))
            }
        } catch {
            return .refused(error)
        }
    }

    private static func decode(_ text: String) throws(APIError) -> String {
        guard let decoded = PercentEncoding.decode(text) else {
            throw APIError.badRequest("The path is not percent-encoded UTF-8.")
        }
        return decoded
    }
}
