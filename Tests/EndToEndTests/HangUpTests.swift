import Base
import Foundation
import Glibc
import TestSupport
import Testing

/// SIGHUP to a real process, and what the openssl program then sees.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct HangUpTests {
    private static let openssl = "/usr/bin/openssl"

    private func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: HangUpTests.openssl)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// Makes a certificate of this name where the site's configuration has its files.
    private func makeCertificate(_ name: String, in site: Site) throws {
        _ = try run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-keyout", "\(site.folder)/tls.key", "-out", "\(site.folder)/tls.pem",
        ])
    }

    private func shown(_ address: String) throws -> String {
        try run(["s_client", "-connect", address, "-servername", "localhost"])
    }

    private func says(_ program: Program, _ message: String) throws {
        try eventually("it says \(message); it said: \(program.log.suffix(2000))") {
            program.logLines.contains { $0.contains("\"message\":\"\(message)\"") }
        }
    }

    @Test(.enabled(if: access(openssl, X_OK) == 0, "skipped: there is no openssl"))
    func `SIGHUP reads the certificate again, and keeps the one before if the new one is wrong`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let site = try Site(database)
        try site.run("migrate")
        try makeCertificate("first", in: site)
        try site.configure([
            "ingest": .object([
                "listen": .string("127.0.0.1:0"), "tls_certificate_file": .string("\(site.folder)/tls.pem"),
                "tls_key_file": .string("\(site.folder)/tls.key"),
            ])
        ])
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        #expect(try shown(address).contains("CN = first"))

        try makeCertificate("second", in: site)
        ingest.kill(SIGHUP)
        try says(ingest, "certificate reloaded")
        #expect(try shown(address).contains("CN = second"))

        try makeCertificate("third", in: site)
        try "nonsense".write(toFile: "\(site.folder)/tls.key", atomically: true, encoding: .utf8)
        ingest.kill(SIGHUP)
        try says(ingest, "certificate reload failed")
        #expect(try shown(address).contains("CN = second"))
        ingest.kill(SIGTERM)
        #expect(try ingest.wait() == 0)
    }

    @Test func `without a certificate SIGHUP is ignored`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let site = try Site(database)
        try site.run("migrate")
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        ingest.kill(SIGHUP)
        try says(ingest, "SIGHUP ignored")
        #expect(site.get("/", from: address).status == 404)
        ingest.kill(SIGTERM)
        #expect(try ingest.wait() == 0)
    }
}
