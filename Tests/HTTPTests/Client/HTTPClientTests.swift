import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// Serialised: connections are counted and times are measured.
@Suite(.serialized)
struct HTTPClientTests {
    @Test func `a request arrives as it was handed in`() throws {
        let fixture = try ClientFixture()
        let body = (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }
        let headers = [
            ("content-type", "application/json"), ("authorization", "Bearer  s3cret, u=1"), ("x-empty", ""),
            ("x-colons", ";a:b; c"),
        ]
        let response = try fixture.send("/ok?a=1", headers: headers, body: body).response()
        #expect(response.status == 200)
        #expect(response.body == Array("done".utf8))
        #expect(!response.truncated)
        #expect(!response.reusedConnection)
        let request = try #require(fixture.server.requests.first)
        #expect(request.body == body)
        let lines = request.head.split(separator: "\r\n").map(String.init)
        #expect(lines.first == "POST /ok?a=1 HTTP/1.1")
        #expect(lines.contains("authorization: Bearer  s3cret, u=1"))
        #expect(lines.contains("x-empty:"))
        #expect(lines.contains("x-colons: ;a:b; c"))
        #expect(lines.contains("User-Agent: entitled/\(Version.current)"))
        #expect(lines.contains("Host: 127.0.0.1:\(fixture.server.port)"))
        #expect(lines.count { $0.lowercased().hasPrefix("content-type:") } == 1)
        #expect(!lines.contains { $0.lowercased().hasPrefix("expect:") })
        #expect(!lines.contains { $0.lowercased().hasPrefix("accept-encoding:") })
    }

    @Test(arguments: ["GET", "PUT", "DELETE", "POST", "HEAD"])
    func `methods are sent as named`(method: String) throws {
        let fixture = try ClientFixture()
        let outcome = fixture.send(method == "HEAD" ? "/status/204" : "/ok", method: method, body: [])
        #expect(try outcome.response().status / 100 == 2)
        let request = try #require(fixture.server.requests.first)
        #expect(request.head.hasPrefix("\(method) "))
        #expect(!request.head.lowercased().contains("content-type:"))
    }

    @Test(arguments: ["200", "204", "400", "410", "429", "500", "503", "599"])
    func `every status is a response`(status: String) throws {
        let fixture = try ClientFixture()
        #expect(try fixture.send("/status/\(status)").response().status == Int(status))
    }

    @Test func `what the consumer asks for is told`() throws {
        let fixture = try ClientFixture()
        let response = try fixture.send("/retry").response()
        #expect(response.retryAfter == "7")
        #expect(response.delivery == "abort")
    }

    @Test func `headers of an interim response do not count`() throws {
        let fixture = try ClientFixture()
        let response = try fixture.send("/interim").response()
        #expect(response.status == 200)
        #expect(response.retryAfter == nil)
    }

    @Test func `control characters in a response's headers do not come through`() throws {
        let fixture = try ClientFixture()
        #expect(try fixture.send("/non-ascii").response().retryAfter == "?[31m??")
    }

    @Test func `redirects are not followed`() throws {
        let fixture = try ClientFixture()
        #expect(try fixture.send("/redirect").response().status == 302)
        #expect(try fixture.send("/ok").response().status == 200)
        #expect(!fixture.server.requests.contains { $0.path == "/target" })
    }

    @Test func `connections are used again`() throws {
        let fixture = try ClientFixture()
        let reused = try (0..<5).map { _ in try fixture.send("/ok").response().reusedConnection }
        #expect(reused == [false, true, true, true, true])
        #expect(fixture.server.connections == 1)
    }

    @Test(arguments: [
        ("/close", TransferFailure.Kind.closed), ("/reset", .closed), ("/reset-after-status", .closed),
        ("/endless-headers", .tooLarge), ("/continue", .tooLarge), ("/garbage", .notHTTP),
    ])
    func `a consumer that does not answer well is a failure`(path: String, kind: TransferFailure.Kind) throws {
        let fixture = try ClientFixture()
        let failure = try fixture.send(path).failure()
        #expect(failure.kind == kind, "\(failure.message)")
        #expect(!failure.message.isEmpty)
        #expect(!failure.message.contains(path))
    }

    @Test(arguments: ["/hang", "/drip", "/drip-headers"])
    func `a slow consumer is cut at the timeout`(path: String) throws {
        let fixture = try ClientFixture()
        let failure = try fixture.send(path, timeout: .milliseconds(400)).failure()
        #expect(failure.kind == .timeout)
        #expect((390..<5000).contains(failure.milliseconds))
        #expect(failure.status == (path == "/drip" ? 200 : nil))
    }

    @Test(arguments: ["/huge", "/endless"])
    func `a body beyond the limit is cut and the status counts`(path: String) throws {
        let fixture = try ClientFixture()
        let response = try fixture.send(path).response()
        #expect(response.status == 200)
        #expect(response.truncated)
        #expect(response.body.count == 16 << 10)
        // What the sockets' buffers hold, never all of it.
        #expect(fixture.server.bytesSent < 32 << 20)
        #expect(fixture.client.inFlight == 0)
    }

    @Test func `a body of exactly the limit is whole`() throws {
        let fixture = try ClientFixture()
        let response = try fixture.send("/exact").response()
        #expect(response.body.count == 16 << 10)
        #expect(!response.truncated)
    }

    @Test func `a port where nobody listens is a failure to connect`() throws {
        let fixture = try ClientFixture()
        fixture.server.stop()
        let dead = try HostileServer()
        let url = dead.url("/secret-path")
        dead.stop()
        _ = fixture.client.sendAndWait(OutgoingRequest(url: url, timeout: .seconds(1)))
        let failure = try fixture.client.sendAndWait(OutgoingRequest(url: url, timeout: .seconds(5))).failure()
        #expect(failure.kind == .connect)
        #expect(!failure.message.contains("secret"))
    }

    @Test func `many that hang do not hold up the others`() throws {
        let fixture = try ClientFixture()
        let hanging = Outcomes()
        for _ in 0..<50 {
            fixture.client.submit(
                OutgoingRequest(url: fixture.server.url("/hang"), timeout: .seconds(60)), completion: hanging.add)
        }
        #expect(fixture.server.waitFor(50, "/hang"))
        let good = Outcomes()
        for _ in 0..<200 {
            fixture.client.submit(OutgoingRequest(url: fixture.server.url("/ok")), completion: good.add)
        }
        #expect(try good.wait(200).map { try $0.response().status } == Array(repeating: 200, count: 200))
        #expect(fixture.client.inFlight == 50)
        fixture.client.stop()
        #expect(try hanging.wait(50).map { try $0.failure().kind } == Array(repeating: .interrupted, count: 50))
        #expect(fixture.client.inFlight == 0)
    }

    @Test func `what is submitted beyond the limit waits its turn`() throws {
        let fixture = try ClientFixture(maxConnections: 2)
        let outcomes = Outcomes()
        for _ in 0..<100 {
            fixture.client.submit(OutgoingRequest(url: fixture.server.url("/ok")), completion: outcomes.add)
        }
        #expect(try outcomes.wait(100).map { try $0.response().status } == Array(repeating: 200, count: 100))
        #expect(fixture.server.connections <= 2)
    }

    @Test func `a completion may submit again`() throws {
        let fixture = try ClientFixture()
        let outcomes = Outcomes()
        let request = OutgoingRequest(url: fixture.server.url("/ok"))
        fixture.client.submit(request) { [client = fixture.client] _ in
            client.submit(request, completion: outcomes.add)
        }
        #expect(outcomes.wait(1).count == 1)
    }

    @Test func `after stopping and before starting nothing is sent`() throws {
        let fixture = try ClientFixture()
        fixture.client.stop()
        fixture.client.stop()
        #expect(try fixture.send("/ok").failure().kind == .interrupted)
        let idle = try HTTPClient(configuration: HTTPClientConfiguration(), logger: .silent, metrics: Metrics())
        let outcomes = Outcomes()
        idle.submit(OutgoingRequest(url: fixture.server.url("/ok")), completion: outcomes.add)
        idle.stop()
        #expect(try outcomes.wait(1).map { try $0.failure().kind } == [.interrupted])
        #expect(fixture.server.connections == 0)
    }

    private static let badHeaders: [(String, String)] = [
        ("a b", "c"), ("", "c"), ("a:", "c"), ("a", "b\r\nc: d"), ("a", "b\nc"), ("a", "b\0c"),
        ("Host", "x"),
        ("Content-Length", "1"), ("transfer-encoding", "chunked"), ("Proxy-Authorization", "x"),
        ("a", String(repeating: "b", count: 9000)),
    ]

    @Test(arguments: HTTPClientTests.badHeaders)
    func `a header that could change the message is refused`(name: String, value: String) throws {
        let fixture = try ClientFixture()
        #expect(try fixture.send("/ok", headers: [(name, value)]).failure().kind == .invalidRequest)
        #expect(fixture.server.connections == 0)
    }

    @Test func `a request may have a limit of its own for the answer, whose date is told`() throws {
        let fixture = try ClientFixture()
        func response(limit: Int?) throws -> OutgoingResponse {
            let request = OutgoingRequest(url: fixture.server.url("/date"), method: "GET", responseLimit: limit)
            return try fixture.client.sendAndWait(request).response()
        }
        #expect(try response(limit: nil).body.count == 16 << 10)
        let whole = try response(limit: 20_000)
        #expect(whole.body.count == 20_000 && !whole.truncated)
        #expect(whole.date == "Sun, 06 Nov 1994 08:49:37 GMT")
        let less = try response(limit: 100)
        #expect(less.body.count == 100 && less.truncated)
    }

    @Test func `outcomes are counted`() throws {
        let fixture = try ClientFixture()
        _ = fixture.send("/ok")
        _ = fixture.send("/status/500")
        _ = fixture.send("/close")
        let text = fixture.metrics.exposition()
        #expect(text.contains(#"entitled_http_client_requests_total{outcome="status_2xx"} 1"#))
        #expect(text.contains(#"entitled_http_client_requests_total{outcome="status_5xx"} 1"#))
        #expect(text.contains(#"entitled_http_client_requests_total{outcome="closed"} 1"#))
        #expect(text.contains("entitled_http_client_in_flight 0"))
    }
}
