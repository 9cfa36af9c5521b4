import Base
import Synchronization
import Testing

@testable import StoreSimulator

@Suite struct NetworkTests {
    @Test(arguments: [
        ("http://localhost", "localhost:80", "/"), ("http://127.0.0.1:8080/a/b?c=d", "127.0.0.1:8080", "/a/b?c=d"),
        ("HTTP://[::1]:9/", "[::1]:9", "/"), ("http://h?x", "h:80", "/?x"),
    ])
    func `a receiver's URL is read`(text: String, address: String, target: String) throws {
        let url = try #require(ReceiverURL(text))
        #expect(url.address.description == address && url.target == target)
    }

    @Test(arguments: [
        "https://h/", "h:80", "http://", "http://h:/", "http://h:99999/", "http://u@h/", "http://h/#x", "http://h/ x",
        "http://::1/", "http://[::1", "http://h/\r\nX: y",
    ])
    func `anything else is no receiver's URL`(text: String) {
        #expect(ReceiverURL(text) == nil)
    }

    static func listener(_ handler: @escaping @Sendable (HTTPListener.Request) -> HTTPAnswer) throws -> HTTPListener {
        try HTTPListener(HostAndPort(host: "127.0.0.1", port: 0), handler: handler)
    }

    static func url(_ listener: HTTPListener, _ path: String = "/") throws -> ReceiverURL {
        try #require(ReceiverURL("http://\(listener.address)\(path)"))
    }

    @Test func `requests and answers of any size go over one connection`() throws {
        let listener = try NetworkTests.listener { HTTPAnswer(status: 200, body: $0.body.reversed()) }
        defer { listener.stop() }
        let connection = ReceiverConnection(to: try NetworkTests.url(listener), timeout: .seconds(20))
        for size in [0, 1, 18_000, 3_000_000, 5] {
            let body = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
            #expect(try connection.post(body) == HTTPAnswer(status: 200, body: body.reversed()))
        }
    }

    @Test func `an answer that does not come in time is an error that says so`() throws {
        let gate = Mutex(())
        let failure = try gate.withLock { _ in
            let listener = try NetworkTests.listener { _ in
                gate.withLock { _ in }
                return HTTPAnswer(status: 200, body: [])
            }
            defer { listener.stop() }
            let connection = ReceiverConnection(to: try NetworkTests.url(listener), timeout: .milliseconds(50))
            return #expect(throws: NetworkFailure.self) { try connection.post([1]) }
        }
        #expect(failure?.description == "timed out")
    }

    @Test func `nobody there is an error that says so`() throws {
        let listener = try NetworkTests.listener { _ in HTTPAnswer(status: 200, body: []) }
        let url = try NetworkTests.url(listener)
        listener.stop()
        let connection = ReceiverConnection(to: url, timeout: .seconds(5))
        // Its socket may still be closing.
        var failure: NetworkFailure?
        while failure == nil {
            do { _ = try connection.post([]) } catch { failure = error }
        }
        #expect(
            failure?.description.contains("\(url.address)") == true
                || failure?.description.contains("connection") == true)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\nX-A:  b \r\n\r\n", "x-a", "b"), ("GET / HTTP/1.1\r\nA:\r\n\r\n", "a", ""),
    ])
    func `a head is read`(text: String, name: String, value: String) {
        #expect(HTTPHead(Array(text.utf8))?[name] == value)
    }

    @Test(arguments: ["\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n"])
    func `anything else is no head`(text: String) {
        #expect(HTTPHead(Array(text.utf8)) == nil)
    }
}
