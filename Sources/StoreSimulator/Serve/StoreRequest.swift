import Base
import HTTP

/// A request of the Server API, taken apart.
struct StoreRequest {
    let method: String
    /// Behind `/inApps/`, decoded.
    let parts: [String]
    private let query: [(name: String, value: String)]
    /// Nil where there is none, or no JSON.
    let body: JSON?

    /// Nil for another path, and for one that cannot be decoded.
    init?(_ request: HTTPRequest) {
        let segments = request.head.path.split(separator: "/", omittingEmptySubsequences: false).map {
            PercentEncoding.decode($0)
        }
        guard segments.count > 3, segments[1] == "inApps", !segments.contains(nil),
            let query = StoreRequest.query(request.head.query ?? "")
        else { return nil }
        method = request.head.method
        parts = segments.dropFirst(2).compactMap(\.self)
        self.query = query
        body = request.body.isEmpty ? nil : try? JSON(parsing: request.body)
    }

    private static func query(_ text: String) -> [(name: String, value: String)]? {
        var query: [(name: String, value: String)] = []
        for field in text.split(separator: "&") {
            let sides = field.replacing("+", with: "%20").split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(sides[0]),
                let value = PercentEncoding.decode(sides.count > 1 ? sides[1] : "")
            else { return nil }
            query.append((name, value))
        }
        return query
    }

    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    /// The query but for these, in a fixed order: what a page belongs to.
    func filter(without names: Set<String>) -> String {
        query.filter { !names.contains($0.name) }.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "&")
    }
}
