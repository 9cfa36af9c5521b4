/// A path with parameters, a method, who may call it, and what is done.
package struct APIRoute: Sendable {
    package typealias Action = @Sendable (APICall) throws -> APIAnswer

    package let method: String
    /// As documents write it: `/v1/subscribers/{app_user_id}`.
    package let path: String
    package let access: APIAccess
    let action: Action
    private let segments: [Segment]

    private enum Segment: Sendable {
        case exactly(String)
        case parameter(String)
    }

    package init(_ method: String, _ path: String, _ access: APIAccess, _ action: @escaping Action) {
        self.method = method
        self.path = path
        self.access = access
        self.action = action
        segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}")
                ? .parameter(String(segment.dropFirst().dropLast())) : .exactly(String(segment))
        }
    }

    /// How many segments are words: of two routes that fit, the one with more of them is meant.
    var exactness: Int {
        segments.filter { if case .exactly = $0 { true } else { false } }.count
    }

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
