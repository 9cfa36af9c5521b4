import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// Serialised: each test runs a TLS server of openssl, which must answer in time.
@Suite(.serialized, .enabled(if: TLSServer.isAvailable, "skipped: there is no openssl command"))
struct HTTP2Tests {
    private func makeClient(_ server: HTTP2Server, offersHTTP2: Bool) throws -> HTTPClient {
        var configuration = HTTPClientConfiguration(
            allowedNetworks: [Network(parsing: "127.0.0.0/8")].compactMap { $0 }, caFile: server.certificate)
        configuration.offersHTTP2 = offersHTTP2
        let metrics = Metrics()
        let client = try HTTPClient(
            configuration: configuration, logger: .silent, metrics: metrics,
            resolver: Resolver(metrics: metrics) { _ in .addresses([.v4(0x7f00_0001)]) })
        client.start()
        return client
    }

    @Test func `HTTP 2 is spoken where it is wanted and offered, each request once`() throws {
        let server = try HTTP2Server(name: "consumer.test")
        defer { server.stop() }
        let client = try makeClient(server, offersHTTP2: true)
        defer { client.stop() }
        let outcomes = Outcomes()
        let url = "https://consumer.test:\(server.port)/hooks"
        let first = try client.sendAndWait(OutgoingRequest(url: url, body: Array("{}".utf8))).response()
        #expect(first.status == 200 && first.body == Array("done".utf8))
        #expect(first.trace.version == 20 && !first.reusedConnection)
        #expect(first.trace.head.text.hasPrefix("HTTP/2 200"))
        for _ in 0..<20 {
            client.submit(OutgoingRequest(url: url, body: Array("{}".utf8)), completion: outcomes.add)
        }
        let responses = try outcomes.wait(20).map { try $0.response() }
        #expect(responses.count == 20 && responses.allSatisfy { $0.status == 200 && $0.trace.version == 20 })
        #expect(server.requests == 21)
        #expect(server.connections == 1)
    }

    @Test func `HTTP 2 is not offered unless it is wanted`() throws {
        let server = try HTTP2Server(name: "consumer.test")
        defer { server.stop() }
        let client = try makeClient(server, offersHTTP2: false)
        defer { client.stop() }
        let url = "https://consumer.test:\(server.port)/hooks"
        // This server has nothing else: the handshake ends without a common protocol, or nobody answers HTTP/1.1.
        _ = try client.sendAndWait(OutgoingRequest(url: url, timeout: .seconds(1))).failure()
        #expect(server.requests == 0 && server.connections == 0)
    }
}
