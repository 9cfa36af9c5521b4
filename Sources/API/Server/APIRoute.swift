import HTTP

/// A path with parameters, a method, who may call it, and what is done.
package struct APIRoute: Sendable {
    package typealias Action = @Sendable (APICall) throws -> APIAnswer

    package let method: String
    /// As documents write it: `/v1/subscribers/{app_user_id}`.
    package let path: String
    package let access: APIAccess
    /// False: RevenueCat's clients call it, and it is answered 404 with a reason.
    package private(set) var isSupported = true
    let work: Work
    private let segments: [Segment]

    /// How requests are answered.
    enum Work: Sendable {
        /// Each by itself, on a thread with a connection.
        case call(Action)
        /// Many at once.
        case gathered(any BatchedRoute)
    }

    private enum Segment: Sendable {
        case exactly(String)
        case parameter(String)
    }

    package init(_ method: String, _ path: String, _ access: APIAccess, _ action: @escaping Action) {
        self.init(method, path, access, .call(action))
    }

    package init(_ method: String, _ path: String, _ access: APIAccess, gatheredBy gathering: any BatchedRoute) {
        self.init(method, path, access, .gathered(gathering))
    }

    private init(_ method: String, _ path: String, _ access: APIAccess, _ work: Work) {
        self.method = method
        self.path = path
        self.access = access
        self.work = work
        segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}")
                ? .parameter(String(segment.dropFirst().dropLast())) : .exactly(String(segment))
        }
    }

    /// One that RevenueCat's clients call and that there is none of here.
    static func unsupported(
        _ method: String, _ path: String, _ access: APIAccess, _ reason: @escaping @Sendable (APICall) -> String
    ) -> APIRoute {
        var route = APIRoute(method, path, access) { throw APIError.notFound(reason($0)) }
        route.isSupported = false
        return route
    }

    /// How many segments are words: of two routes that fit, the one with more of them is meant.
    var exactness: Int {
        segments.filter { if case .exactly = $0 { true } else { false } }.count
    }

    var segmentCount: Int { segments.count }

    /// The parameters of a path that fits, still percent-encoded.
    func parameters(of parts: [Substring]) -> [String: String]? {
        guard parts.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .exactly(let word): guard word == part else { return nil }
            case .parameter(let name): parameters[name] = String(part)
            }
        }
        return parameters
    }
}

/// Takes requests of one route, to answer several of them with one question to the database.
package protocol BatchedRoute: Sendable {
    /// Returns at once; the answer comes later.
    func take(_ request: APIRequest, _ responder: HTTPResponder)
}
