import Base
import Daemon

/// What an operator's tools ask a process: `/healthz` (it lives), `/readyz` (it can do its work), `/metrics`.
package struct AdminEndpoints: HTTPHandler {
    private let router: Router

    /// `notReady` gives the reasons why the process cannot do its work now; none: it can. It must not block for long.
    package init(metrics: Metrics, notReady: @escaping @Sendable () -> [String]) {
        var router = Router()
        router.on("GET", "/healthz") { _, responder in
            responder.respond(.json(200, .object(["status": .string("ok")])))
        }
        router.on("GET", "/readyz") { _, responder in
            let reasons = notReady()
            responder.respond(
                reasons.isEmpty
                    ? .json(200, .object(["status": .string("ready")]))
                    : .json(503, .object(["status": .string("not ready"), "reasons": .strings(reasons)])))
        }
        router.on("GET", "/metrics") { _, responder in
            responder.respond(
                .text(200, metrics.exposition(), type: "text/plain; version=0.0.4; charset=utf-8"))
        }
        self.router = router
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? { router.refuse(head) }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) { router.handle(request, responder) }
}
