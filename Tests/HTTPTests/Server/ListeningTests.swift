import Base
import Daemon
import HTTP
import Testing

@Suite struct ListeningTests {
    private func server(_ listen: String) -> HTTPServer {
        HTTPServer(
            HTTPServerConfiguration(role: "test", listen: listen), handler: TestHandler(), logger: .silent)
    }

    @Test func `a listener says where it listens`() throws {
        let server = try TestServer()
        #expect(server.port > 0)
        #expect(server.log.text.contains(#""message":"listening","role":"test","address":"127.0.0.1:\#(server.port)""#))
    }

    @Test func `IPv6 addresses are in brackets`() throws {
        let server = try TestServer { $0.listen = "[::1]:0" }
        #expect(server.log.text.contains(#""address":"[::1]:\#(server.port)""#))
    }

    @Test func `an address that is taken is named`() throws {
        let first = try TestServer()
        #expect(
            throws: HTTPServerError.cannotListen(
                address: "127.0.0.1:\(first.port)", reason: "the address is in use by another process")
        ) { try server("127.0.0.1:\(first.port)").start() }
    }

    @Test(arguments: ["", "8080", ":8080", "localhost:80", "127.0.0.1", "127.0.0.1:65536", "::1:80", "[::1]", "[x]:1"])
    func `an address that is none is named`(_ address: String) {
        #expect(throws: HTTPServerError.malformedAddress(address)) { try server(address).start() }
    }

    @Test func `an address of another host is refused`() {
        #expect(throws: HTTPServerError.self) { try server("192.0.2.1:0").start() }
    }

    @Test func `draining twice, or what never started, does nothing`() throws {
        let idle = server("127.0.0.1:0")
        idle.drain(until: .now)
        try idle.start()
        idle.drain(until: .now)
        idle.drain(until: .now)
        #expect(idle.boundPort == nil)
        #expect(throws: HTTPServerError.cannotStart) { try idle.start() }
    }
}
