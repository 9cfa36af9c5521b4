import HTTP

/// The contract of this API, for people and generators of clients: without a key, since it holds nothing of an
/// installation.
package struct DocumentRoutes: Sendable {
    private let openAPI: [UInt8]

    /// - Parameter openAPI: the document, in YAML (RFC 9512).
    package init(openAPI: [UInt8]) {
        self.openAPI = openAPI
    }

    package var routes: [APIRoute] {
        let answer = HTTPResponse(status: 200, headers: [("Content-Type", "application/yaml")], body: openAPI)
        return [APIRoute("GET", "/openapi.yaml", .open) { _ in .response(answer) }]
    }
}
