import Daemon
import HTTP
import TestSupport
import Testing

/// Who gets a place where there are few.
@Suite struct FullServerTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func count(_ server: TestServer, _ metric: String) -> Int? {
        server.metrics.exposition().split(separator: "\n").first { $0.hasPrefix("\(metric){") }?
            .split(separator: " ").last.flatMap { Int($0) }
    }

    private func hold(
        _ count: Int, of server: TestServer, sending text: String, from host: UInt8? = nil
    ) throws -> [RawClient] {
        let before = self.count(server, "entitled_http_connections") ?? 0
        let clients = (0..<count).map { _ in server.client(from: host) }
        clients.forEach { $0.send(text) }
        try eventually("they are accepted") { self.count(server, "entitled_http_connections") == before + count }
        return clients
    }

    @Test func `half heads that fill the server make room for a client that sends a whole one`() throws {
        let server = try TestServer {
            $0.maxConnections = 50
            $0.undisturbed = .milliseconds(50)
        }
        let slow = try hold(50, of: server, sending: "GET / HTTP/1.1\r\nX: ")
        for _ in 0..<20 {
            let isServed = Monitor(0).poll(for: .seconds(5)) {
                let client = server.client()
                client.send(get)
                return client.answer()?.status == 200
            }
            #expect(isServed)
        }
        #expect((count(server, "entitled_http_turned_away_total") ?? 0) >= 1)
        withExtendedLifetime(slow) {}
    }

    @Test func `of silent connections the one that owes a head goes first, and what is at work never goes`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler) {
            $0.maxConnections = 3
            $0.undisturbed = .milliseconds(1)
        }
        let busy = server.client()
        busy.send(get)
        let responder = try #require(waiting.take(1)?.first)
        let idle = server.client()
        idle.send(get)
        try #require(waiting.take(1)?.first).respond(HTTPResponse(status: 200))
        #expect(idle.answer()?.status == 200)
        let slow = try hold(1, of: server, sending: "GET / HT")[0]

        func served() throws -> RawClient {
            var last: RawClient?
            try eventually("a client is served") {
                let client = server.client()
                client.send(get)
                guard let responder = waiting.take(1)?.first else { return false }
                responder.respond(HTTPResponse(status: 200))
                last = client
                return client.answer()?.status == 200
            }
            return try #require(last)
        }
        let first = try served()
        #expect(slow.receive() == [])
        let second = try served()
        #expect(idle.receive() == [])
        // Now all three are at work: nothing is silent.
        first.send(get)
        second.send(get)
        let responders = try #require(waiting.take(2))
        #expect(server.client().receive() == [])
        for responder in responders + [responder] { responder.respond(HTTPResponse(status: 200)) }
        #expect(busy.answer()?.status == 200)
        #expect(first.answer()?.status == 200 && second.answer()?.status == 200)
    }

    @Test func `one address has its share of the connections, and others have theirs`() throws {
        let server = try TestServer {
            $0.maxConnectionsPerAddress = 4
            $0.exemptsLocalAddresses = false
        }
        var held = try hold(4, of: server, sending: "", from: 7)
        #expect(server.client(from: 7).receive() == [])
        let other = server.client(from: 8)
        other.send(get)
        #expect(other.answer()?.status == 200)
        held.removeLast()
        try eventually("there is room again") {
            let client = server.client(from: 7)
            client.send(get)
            return client.answer()?.status == 200
        }
        withExtendedLifetime(held) {}
    }

    @Test func `a proxy on this host has no share of its own`() throws {
        let server = try TestServer { $0.maxConnectionsPerAddress = 4 }
        let held = try hold(9, of: server, sending: "", from: 7)
        let client = server.client(from: 7)
        client.send(get)
        #expect(client.answer()?.status == 200)
        withExtendedLifetime(held) {}
    }
}
