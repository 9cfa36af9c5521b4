/// A path of the same server with its query, made of decoded parts: nothing in them can lead to another host.
package struct LocalPath: Sendable, Hashable {
    /// One parameter of the query, decoded.
    package struct Item: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// Decoded; the first one is the program's own word.
    package let segments: [String]
    package let query: [Item]

    /// - Parameters:
    ///   - root: a word of letters, which stands behind the first slash.
    ///   - rest: what follows, decoded.
    package init(_ root: StaticString, _ rest: String...) {
        self.init(segments: ["\(root)"] + rest, query: [])
    }

    private init(segments: [String], query: [Item]) {
        self.segments = segments
        self.query = query
    }

    /// The path with one more segment.
    package func appending(_ segment: String) -> LocalPath {
        LocalPath(segments: segments + [segment], query: query)
    }

    /// The path with this parameter; any of the same name before is gone. Nil takes it away.
    package func with(_ name: String, _ value: String?) -> LocalPath {
        let rest = query.filter { $0.name != name }
        return LocalPath(segments: segments, query: rest + (value.map { [Item(name: name, value: $0)] } ?? []))
    }

    /// `/a/b?c=d`, percent-encoded (RFC 3986).
    package var text: String {
        let path = "/" + segments.map(PercentEncoding.encode).joined(separator: "/")
        guard !query.isEmpty else { return path }
        let items = query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return path + "?" + items.joined(separator: "&")
    }
}
