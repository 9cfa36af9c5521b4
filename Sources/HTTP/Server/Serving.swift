import Synchronization

/// What a server serves with until it is replaced: a handler, and what it takes from clients.
final class Serving: Sendable {
    let configuration: HTTPServerConfiguration
    let handler: any HTTPHandler
    /// Calls of the handler that have begun and have not returned.
    let calls = Atomic(0)

    init(_ configuration: HTTPServerConfiguration, _ handler: any HTTPHandler) {
        self.configuration = configuration
        self.handler = handler
    }
}
