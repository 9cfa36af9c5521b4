import Daemon
import Glibc
import HTTP
import TestSupport
import Testing

/// Servers on sockets that others hold, too.
@Suite struct InheritedSocketTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func server(_ listening: Int32, _ adjust: (inout HTTPServerConfiguration) -> Void = { _ in }) throws
        -> HTTPServer
    {
        var settings = HTTPServerConfiguration(role: "test", listen: "127.0.0.1:1")
        settings.inherited = fcntl(listening, F_DUPFD_CLOEXEC, 0)
        _ = fcntl(listening, F_SETFL, fcntl(listening, F_GETFL) | O_NONBLOCK)
        adjust(&settings)
        let server = HTTPServer(settings, handler: TestHandler(), logger: .silent)
        try server.start()
        return server
    }

    @Test func `connections that come between two servers of a socket are answered by the second`() throws {
        let (listening, port) = try #require(LoopbackSocket.listen())
        defer { close(listening) }
        let first = try server(listening)
        #expect(first.boundPort == port)
        let before = RawClient(port: port)
        before.send(get)
        #expect(before.answer()?.status == 200)
        first.drain(until: .now + .seconds(5))
        let between = (0..<10).map { _ in RawClient(port: port) }
        #expect(between.allSatisfy { $0.send(get) })
        let second = try server(listening)
        #expect(between.allSatisfy { $0.answer()?.status == 200 })
        second.drain(until: .now + .seconds(5))
    }

    @Test func `IPv4 addresses on a socket of both families count one by one`() throws {
        let listening = socket(AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(listening) }
        var no: Int32 = 0
        setsockopt(listening, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &no, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) | listen(listening, 64)
            }
        }
        try #require(bound == 0)
        let server = try server(listening) {
            $0.maxConnectionsPerAddress = 1
            $0.exemptsLocalAddresses = false
        }
        let port = try #require(server.boundPort)
        let clients = (UInt8(1)...4).map { RawClient(port: port, from: $0) }
        for client in clients {
            client.send(get)
            #expect(client.answer()?.status == 200)
        }
        let second = RawClient(port: port, from: 1)
        #expect(!second.send(get) || second.answer() == nil)
        server.drain(until: .now + .seconds(5))
    }
}
