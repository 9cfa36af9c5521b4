import Synchronization

/// Answers one request, once, from any thread. Further answers are ignored; let go without one, it answers 503.
package final class HTTPResponder: Sendable {
    private let send: @Sendable (HTTPResponse) -> Void
    private let isUsed = Atomic(false)

    /// `send` is called exactly once.
    package init(_ send: @escaping @Sendable (HTTPResponse) -> Void) {
        self.send = send
    }

    deinit {
        // Nearly all of them are answered, and no answer needs to be made for those.
        guard !isUsed.load(ordering: .acquiring) else { return }
        respond(.unavailable("The request was not answered."))
    }

    package func respond(_ response: HTTPResponse) {
        guard !isUsed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        send(response)
    }
}
