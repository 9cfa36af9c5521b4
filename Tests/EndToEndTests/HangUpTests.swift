import Base
import Foundation
import Glibc
import Schemas
import StoreSimulator
import TestSupport
import Testing

/// SIGHUP to real processes: what they do by the new configuration, and what keeps them at the old one.
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
        try says(ingest, "configuration reload failed")
        #expect(try shown(address).contains("CN = second"))
        ingest.kill(SIGTERM)
        #expect(try ingest.wait() == 0)
    }

    // MARK: - What is reloaded

    private static let other = StoreApp(
        bundleID: "com.example.second", appleAppID: 987_654_321, environment: "Production")

    private func start(_ life: UInt64, of app: StoreApp) -> StoreNotification {
        var life = SubscriberLife(app: app, seed: 77, number: life)
        return life.start(at: Site.start)
    }

    private static func app(_ id: String, _ app: StoreApp) -> JSON {
        .object([
            "id": .string(id), "bundle_id": .string(app.bundleID), "apple_app_id": .int(app.appleAppID),
        ])
    }

    private func metrics(_ program: Program, _ site: Site) throws -> String {
        site.get("/metrics", from: try program.address("admin")).text
    }

    @Test func `an app of the new configuration is taken, and a faulty file changes nothing and names all mistakes`()
        throws
    {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        #expect(try site.post(start(1, of: Self.other), to: address) == 403)
        ingest.kill(SIGHUP)
        try says(ingest, "configuration unchanged")
        let hash = try metrics(ingest, site).split(separator: "\n").first {
            $0.hasPrefix("entitled_configuration_hash ")
        }

        let apps = JSON.array([Self.app("demo", Site.app), Self.app("second", Self.other)])
        try site.configure(["apps": apps, "log": .object(["level": .string("notice")])])
        ingest.kill(SIGHUP)
        try says(ingest, "configuration reloaded")
        #expect(try site.post(start(1, of: Self.other), to: address) == 200)
        #expect(try site.post(start(2, of: Site.app), to: address) == 200)
        let after = try metrics(ingest, site)
        #expect(hash != nil && !after.contains("\(hash ?? "")\n"))
        #expect(after.contains("entitled_configuration_reload_failed 0\n"))

        try site.configure([
            "apps": apps, "drain_timeout": .string("never"), "worker": .object(["lese": .string("2s")]),
        ])
        ingest.kill(SIGHUP)
        try says(ingest, "configuration reload failed")
        let line = try #require(ingest.logLines.last { $0.contains("configuration reload failed") })
        #expect(line.contains("drain_timeout") && line.contains("worker.lese"))
        #expect(try metrics(ingest, site).contains("entitled_configuration_reload_failed 1\n"))
        #expect(try site.post(start(3, of: Self.other), to: address) == 200)

        try site.configure(["apps": apps, "ingest": .object(["listen": .string("127.0.0.1:1")])])
        ingest.kill(SIGHUP)
        try says(ingest, "configuration needs restart")
        #expect(ingest.logLines.contains { $0.contains("configuration needs restart") && $0.contains("ingest.listen") })
        #expect(try site.post(start(4, of: Self.other), to: address) == 200)
        ingest.kill(SIGTERM)
        #expect(try ingest.wait() == 0)
    }

    @Test func `keys of the new configuration open the API, and those that are gone do not`() throws {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.run("migrate")
        func keys(_ key: String) throws {
            try site.configure([
                "api": .object([
                    "listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_a_key_for_tests_\(key)"]),
                ])
            ])
        }
        try keys("one")
        let api = try site.start("api")
        let port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
        func status(_ key: String) -> Int {
            HTTPCall.send(
                "GET", "/v1/subscribers/kim", headers: ["Authorization": "Bearer sk_a_key_for_tests_\(key)"], to: port
            ).status
        }
        #expect(status("one") < 300 && status("two") == 401)
        try keys("two")
        api.kill(SIGHUP)
        try says(api, "configuration reloaded")
        #expect(status("two") < 300 && status("one") == 401)
        #expect(!api.log.contains("a_key_for_tests"))
        api.kill(SIGTERM)
        #expect(try api.wait() == 0)
    }

    @Test func `reloads under load lose nothing and are seen by no sender`() throws {
        let database = try TestCluster.shared.makeDatabase()
        _ = try Migrator.migrate(on: try database.connect())
        _ = try PrivilegeGranting.apply(on: try database.connect())
        let scene = try FaultFixture(database)
        scene.beginLoad()
        try scene.more(20)
        for round in 0..<4 {
            try scene.site.configure([
                "worker": .object(["lease": .string("2s"), "expiry_patience": .string("\(20 + round)h")])
            ])
            for program in [scene.ingest] + scene.workers { program.kill(SIGHUP) }
            for program in [scene.ingest] + scene.workers {
                try eventually(timeout: .seconds(60), "it is reloaded; it said: \(program.log.suffix(2000))") {
                    program.logLines.filter { $0.contains("\"message\":\"configuration reloaded\"") }.count == round + 1
                }
            }
            try scene.more(20)
        }
        try scene.endLoad()
        #expect(try scene.faults() == [])
        #expect(scene.refused == 0)
    }
}
