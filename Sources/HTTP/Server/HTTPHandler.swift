/// What a server does with requests. Both functions run on a thread of the server and must not block it.
package protocol HTTPHandler: Sendable {
    /// Asked with the request line and the header fields, before a body is read; an answer ends the request here.
    func refuse(_ head: HTTPRequestHead) -> HTTPResponse?

    /// Called with the whole request; the answer may come at any time, from any thread.
    func handle(_ request: HTTPRequest, _ responder: HTTPResponder)
}

extension HTTPHandler {
    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? { nil }
}
