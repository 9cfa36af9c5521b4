import Base
import Daemon
import HTTP
import Synchronization
import Testing

@Suite struct RouterTests {
    private func answer(_ handler: some HTTPHandler, _ method: String, _ target: String) -> HTTPResponse? {
        let head = HTTPRequestHead(method: method, target: target)
        if let refusal = handler.refuse(head) { return refusal }
        let box = Box()
        handler.handle(HTTPRequest(head: head), HTTPResponder { response in box.value.withLock { $0 = response } })
        return box.value.withLock { $0 }
    }

    private final class Box: Sendable {
        let value = Mutex<HTTPResponse?>(nil)
    }

    private func router() -> Router {
        var router = Router()
        router.on("GET", "/a") { $1.respond(HTTPResponse(status: 201)) }
        router.on("POST", "/a") { $1.respond(HTTPResponse(status: 202)) }
        router.on("GET", prefix: "/a/") { $1.respond(HTTPResponse(status: 203)) }
        router.on("DELETE", prefix: "/a/b/") { $1.respond(HTTPResponse(status: 204)) }
        return router
    }

    @Test(arguments: [
        ("GET", "/a", 201), ("HEAD", "/a", 201), ("GET", "/a?x", 201), ("POST", "/a", 202), ("GET", "/a/", 203),
        ("GET", "/a/x/y", 203), ("DELETE", "/a/b/c", 204), ("GET", "/a/b/c", 405), ("PUT", "/a", 405),
        ("GET", "/", 404),
        ("GET", "/ab", 404), ("GET", "//a", 404), ("GET", "/%61", 404),
    ])
    func `the longest route that fits wins`(_ method: String, _ target: String, _ status: Int) {
        #expect(answer(router(), method, target)?.status == status)
    }

    @Test func `a refused method is told the others`() {
        let refusal = answer(router(), "PUT", "/a")
        #expect(refusal?.headers.first { $0.name == "Allow" }?.value == "GET, HEAD, POST")
    }

    @Test func `a process tells whether it lives, is ready, and its numbers`() throws {
        let metrics = Metrics()
        metrics.count(Metric("things_total", .counter, "Things."))
        let box = Reasons()
        let admin = AdminEndpoints(metrics: metrics) { box.list.withLock { $0 } }
        #expect(answer(admin, "GET", "/healthz")?.status == 200)
        #expect(answer(admin, "GET", "/readyz")?.status == 200)
        box.list.withLock { $0 = ["the database is unavailable"] }
        let notReady = try #require(answer(admin, "GET", "/readyz"))
        #expect(notReady.status == 503)
        #expect(String(decoding: notReady.body, as: UTF8.self).contains("the database is unavailable"))
        #expect(answer(admin, "GET", "/healthz")?.status == 200)
        let exposed = try #require(answer(admin, "GET", "/metrics"))
        #expect(String(decoding: exposed.body, as: UTF8.self).contains("things_total 1\n"))
        #expect(answer(admin, "POST", "/metrics")?.status == 405)
        #expect(answer(admin, "GET", "/x")?.status == 404)
    }

    private final class Reasons: Sendable {
        let list = Mutex<[String]>([])
    }
}
