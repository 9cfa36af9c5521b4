import Daemon
import HTTP
import Synchronization
import TestSupport
import Testing

/// Many connections at once.
@Suite struct CrowdTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    /// libmicrohttpd's epoll mode takes 128 events at a time, and sleeps on them where their number is a multiple of that:
    /// whatever mode serves, nobody may be kept waiting for as long as a client has patience.
    @Test(arguments: [1, 127, 128, 129, 256])
    func `all that became ready while the thread was busy is answered at once`(count: Int) throws {
        let gate = Gate()
        let isFirst = Atomic(true)
        let handler = TestHandler(handling: { _, responder in
            if isFirst.exchange(false, ordering: .relaxed) { gate.pass() }
            responder.respond(HTTPResponse(status: 200))
        })
        let server = try TestServer(handler) { $0.threads = 1 }
        let clients = (0..<count).map { _ in server.client() }
        // Accepted, so that nothing but the requests is ready then.
        try eventually("all are accepted") {
            server.metrics.exposition().contains("entitled_http_connections{role=\"test\"} \(count)\n")
        }
        let first = server.client()
        first.send(get)
        try eventually("the thread is busy") { gate.isHolding }
        clients.forEach { $0.send(get) }
        gate.open()
        #expect(first.answer()?.status == 200)
        #expect(clients.allSatisfy { $0.answer()?.status == 200 })
    }

    @Test(arguments: [1, 4]) func `what is answered late by other threads arrives`(threads: Int) throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler) { $0.threads = threads }
        let clients = (0..<200).map { _ in server.client() }
        let begun = ContinuousClock.now
        for _ in 0..<20 {
            clients.forEach { $0.send(get) }
            let responders = try #require(waiting.take(200))
            let answering = (0..<4).map { part in
                ServiceThread("answering") {
                    for responder in responders[(part * 50)..<(part * 50 + 50)] {
                        responder.respond(HTTPResponse(status: 200))
                    }
                }
            }
            #expect(clients.allSatisfy { $0.answer()?.status == 200 })
            answering.forEach { $0.join() }
        }
        // Were a single wake-up lost, its round would take a second.
        #expect(ContinuousClock.now - begun < .seconds(10))
    }
}
