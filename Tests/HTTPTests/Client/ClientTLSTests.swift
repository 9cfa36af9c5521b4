import Base
import Daemon
import Foundation
import Glibc
import HTTP
import TestSupport
import Testing

/// HTTPS against OpenSSL's own test server.
@Suite(.enabled(if: TLSServer.isAvailable, "skipped: there is no openssl command"))
struct ClientTLSTests {
    @Test func `a certificate of a trusted authority for the name is accepted`() throws {
        let server = try TLSServer(name: "consumer.test")
        let client = try makeClient(caFile: server.certificate)
        defer { client.stop() }
        let url = "https://consumer.test:\(server.port)/"
        let response = try client.sendAndWait(OutgoingRequest(url: url, method: "GET")).response()
        #expect(response.status == 200)
    }

    @Test func `an unknown authority is a failure of TLS`() throws {
        let server = try TLSServer(name: "consumer.test")
        let client = try makeClient(caFile: nil)
        defer { client.stop() }
        let url = "https://consumer.test:\(server.port)/"
        #expect(try client.sendAndWait(OutgoingRequest(url: url, method: "GET")).failure().kind == .tls)
    }

    @Test func `a certificate for another name is a failure of TLS`() throws {
        let server = try TLSServer(name: "other.test")
        let client = try makeClient(caFile: server.certificate)
        defer { client.stop() }
        let url = "https://consumer.test:\(server.port)/"
        #expect(try client.sendAndWait(OutgoingRequest(url: url, method: "GET")).failure().kind == .tls)
    }

    @Test func `a certificate that expired is a failure of TLS`() throws {
        let server = try TLSServer(name: "consumer.test", isExpired: true)
        let client = try makeClient(caFile: server.certificate)
        defer { client.stop() }
        let url = "https://consumer.test:\(server.port)/"
        let failure = try client.sendAndWait(OutgoingRequest(url: url, method: "GET")).failure()
        #expect(failure.kind == .tls && failure.message.contains("expired"), "\(failure.message)")
        #expect(failure.trace.peer == .v4(0x7f00_0001) && failure.trace.timings.lookup != nil)
        #expect(failure.trace.timings.handshake == nil && failure.trace.timings.firstByte == nil)
    }

    @Test func `plain HTTP where TLS is expected is a failure of TLS`() throws {
        let server = try #require(LoopbackSocket.listen())
        let thread = TestThread {
            let client = LoopbackSocket.accept(server.0)
            _ = LoopbackSocket.receive(client, 5)
            LoopbackSocket.send(client, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            shutdown(client, Int32(SHUT_RDWR))
            close(client)
        }
        let client = try makeClient(caFile: nil)
        defer { client.stop() }
        let request = OutgoingRequest(url: "https://consumer.test:\(server.1)/")
        #expect(try client.sendAndWait(request).failure().kind == .tls)
        try thread.value()
        close(server.0)
    }

    @Test func `the phases of a request are told, and which connection it took`() throws {
        let server = try TLSServer(name: "consumer.test")
        let client = try makeClient(caFile: server.certificate)
        defer { client.stop() }
        let request = OutgoingRequest(url: "https://consumer.test:\(server.port)/", method: "GET")
        let trace = try client.sendAndWait(request).response().trace
        #expect(trace.timings.lookup != nil && trace.timings.connect != nil)
        #expect(trace.timings.handshake != nil && trace.timings.firstByte != nil)
        #expect(trace.peer == .v4(0x7f00_0001) && !trace.reusedConnection)
        #expect(trace.head.text.hasPrefix("HTTP/1.0 200 ok"))
        #expect(trace.version == 10)
        // Its answer is remembered.
        #expect(try client.sendAndWait(request).response().trace.timings.lookup == nil)
    }

    @Test func `a server that never finishes the handshake is cut at the timeout`() throws {
        let fixture = try ClientFixture()
        let url = "https://127.0.0.1:\(fixture.server.port)/"
        let request = OutgoingRequest(url: url, timeout: .milliseconds(300))
        #expect(try fixture.client.sendAndWait(request).failure().kind == .timeout)
    }

    @Test func `a missing file of authorities is our own fault`() throws {
        let server = try TLSServer(name: "consumer.test")
        let client = try makeClient(caFile: "/nonexistent/ca.pem")
        defer { client.stop() }
        let url = "https://consumer.test:\(server.port)/"
        #expect(try client.sendAndWait(OutgoingRequest(url: url, method: "GET")).failure().kind == .infrastructure)
    }

    private func makeClient(caFile: String?) throws -> HTTPClient {
        let networks = [Network(parsing: "127.0.0.0/8")].compactMap { $0 }
        let metrics = Metrics()
        let client = try HTTPClient(
            configuration: HTTPClientConfiguration(allowedNetworks: networks, caFile: caFile), logger: .silent,
            metrics: metrics, resolver: Resolver(metrics: metrics) { _ in .addresses([.v4(0x7f00_0001)]) })
        client.start()
        return client
    }
}

/// `openssl s_server` with a certificate of its own.
final class TLSServer {
    static let openssl = "/usr/bin/openssl"
    static let isAvailable = FileManager.default.isExecutableFile(atPath: openssl)

    struct Failure: Error {}

    let certificate: String
    let port: UInt16
    private let process = Process()
    private let folder: URL

    /// - Parameter isExpired: whether its certificate was good until yesterday.
    init(name: String, isExpired: Bool = false) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appendingPathComponent("certificate.pem").path
        let key = folder.appendingPathComponent("key.pem").path
        let request = folder.appendingPathComponent("request.pem").path
        try TestCommand.run([
            TLSServer.openssl, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", key, "-out", request, "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
        ])
        try TestCommand.run([
            TLSServer.openssl, "x509", "-req", "-in", request, "-signkey", key, "-copy_extensions", "copyall",
            "-days", isExpired ? "-1" : "2", "-out", certificate,
        ])
        process.executableURL = URL(fileURLWithPath: TLSServer.openssl)
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        port = try TLSServer.port(in: output.fileHandleForReading)
    }

    deinit {
        // The test runner's threads block SIGTERM, and children inherit that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Of the line `ACCEPT 127.0.0.1:PORT PID=…`.
    private static func port(in output: FileHandle) throws -> UInt16 {
        var text = ""
        while true {
            let data = output.availableData
            guard !data.isEmpty else { throw Failure() }
            text += String(decoding: data, as: UTF8.self)
            guard
                let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                    .first(where: { $0.hasPrefix("ACCEPT") })
            else { continue }
            guard let port = UInt16(line.drop { $0 != ":" }.dropFirst().prefix { $0.isNumber }) else { throw Failure() }
            return port
        }
    }
}
