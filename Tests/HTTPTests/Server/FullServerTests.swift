import Daemon
import TestSupport
import Testing

@testable import HTTP

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

    @Test func `of silent connections the one that owes a head goes first, and of those the longest silent`() {
        func silence(_ isOwed: Bool, _ seconds: Int) -> HTTPConnection.Silence {
            HTTPConnection.Silence(isOwed: isOwed, time: .seconds(seconds))
        }
        let inOrder = [silence(false, 1), silence(false, 60), silence(true, 1), silence(true, 9)]
        for (index, earlier) in inOrder.enumerated() {
            for later in inOrder[(index + 1)...] { #expect(earlier < later && !(later < earlier)) }
        }
    }

    @Test func `an idle connection makes room, and what is at work never goes`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler) {
            $0.maxConnections = 2
            $0.undisturbed = .zero
        }
        let (busy, idle) = (server.client(), server.client())
        busy.send(get)
        let responder = try #require(waiting.take(1)?.first)
        idle.send(get)
        try #require(waiting.take(1)?.first).respond(HTTPResponse(status: 200))
        #expect(idle.answer()?.status == 200)
        var clients: [RawClient] = []
        var other: HTTPResponder?
        // Until the server has noticed that the answer was sent, it turns clients away.
        try eventually("the idle connection makes room") {
            clients.append(server.client())
            clients.last?.send(get)
            other = waiting.take(1, within: .milliseconds(500))?.first
            return other != nil
        }
        #expect(idle.receive() == [])
        // Now both are at work: nothing is silent.
        #expect(server.client().receive() == [])
        other?.respond(HTTPResponse(status: 200))
        responder.respond(HTTPResponse(status: 200))
        #expect(busy.answer()?.status == 200)
        #expect(clients.compactMap { $0.answer()?.status } == [200])
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
