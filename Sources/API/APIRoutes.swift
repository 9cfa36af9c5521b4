import Base
import HTTPServer

/// The REST listener: its health, and a clear 404 for everything else.
package struct APIRoutes: HTTPHandler {
    private let router: Router

    package init() {
        var router = Router()
        let health: Router.Action = { _, responder in
            responder.respond(.json(200, .object(["status": .string("ok"), "version": .string(Version.current)])))
        }
        router.on("GET", "/healthz", health)
        router.on("GET", "/v1/health", health)
        self.router = router
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? { router.refuse(head) }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) { router.handle(request, responder) }
}
