import Base
import Foundation
import Glibc
import HTTPClient
import Lifecycle
import Telemetry
import Testing

/// HTTPS against OpenSSL's own test server.
@Suite(.serialized, .enabled(if: TLSServer.isAvailable, "skipped: there is no openssl command"))
struct TLSTests {
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
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    struct Failure: Error {}

    let certificate: String
    let port: UInt16
    private let process = Process()
    private let folder: URL

    init(name: String) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appendingPathComponent("certificate.pem").path
        let key = folder.appendingPathComponent("key.pem").path
        let make = Process()
        make.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        make.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", key, "-out", certificate, "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
        ]
        make.standardError = FileHandle.nullDevice
        try make.run()
        make.waitUntilExit()
        process.executableURL = make.executableURL
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
