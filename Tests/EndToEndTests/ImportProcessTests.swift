import Base
import Daemon
import Database
import FoundationEssentials
import HTTP
import StoreSimulator
import TestSupport
import Testing

/// `entitled import` as a program, with `storesim serve` as Apple.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ImportProcessTests {
    private static var storesim: String { Program.path.replacing(/entitled$/, with: "storesim") }

    private func serve(_ folder: String) throws -> (program: Program, document: JSON) {
        let store = try Program(
            running: [Self.storesim, "serve", "--dir", "\(folder)/store", "--json", "--seed", "5"], folder: folder)
        try eventually("the store listens") { store.document?["base_url"] != nil }
        return (store, try #require(store.document))
    }

    private func originals(_ url: String) throws -> [String] {
        let client = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) }, responseLimit: 1 << 20),
            logger: .silent, metrics: Metrics())
        client.start()
        defer { client.stop() }
        let request = OutgoingRequest(url: "\(url)/control/customers", method: "GET")
        guard case .response(let response) = client.sendAndWait(request) else { throw TestFailure("no answer") }
        let customers = try JSON(parsing: response.body)["customers"]?.arrayValue ?? []
        return customers.flatMap { $0["original_transaction_ids"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }

    @Test(arguments: [FailPoint.importBeforeCommit, .importAfterCommit])
    func `the same command line goes on with an import that was killed around a commit`(point: FailPoint) throws {
        let database = try TestCluster.shared.makeDatabase()
        let site = try Site(database)
        try site.run("migrate")
        let (store, document) = try serve(site.folder)
        func text(_ name: String) -> JSON { document[name] ?? .null }
        try site.configure([
            "trust": .object(["root_sha256": .array([text("root_sha256")])]),
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": text("bundle_id"), "apple_app_id": text("apple_app_id"),
                    "environments": .strings(["Sandbox"]),
                    "server_api": .object([
                        "issuer_id": text("issuer_id"), "key_id": text("key_id"),
                        "private_key_file": text("private_key_file"), "base_url": text("base_url"),
                    ]),
                ])
            ]),
        ])
        let ids = try originals(try #require(document["base_url"]?.stringValue))
        try #require(ids.count >= 5)
        let path = "\(site.folder)/customers.csv"
        let rows = ids.enumerated().map { "user-\($0),\($1)" } + ["user-x,2000000999999999"]
        try (["app_user_id,original_transaction_id"] + rows).joined(separator: "\n").write(
            toFile: path, atomically: true, encoding: .utf8)
        let doomed = try site.start(
            "import", "--csv", path, "--app", "demo", environment: [FailPoint.variable: "\(point.rawValue):3"])
        #expect(try doomed.wait() == 128 + 9, "\(doomed.log)")
        #expect(try database.count("SELECT count(*) FROM entitled.job WHERE state = 'running'") == 1)
        let done = try site.run("import", "--csv", path, "--app", "demo", "--json").document
        #expect(done?["rows"]?.intValue == Int64(ids.count + 1))
        #expect(done?["imported"]?.intValue == Int64(ids.count))
        #expect(done?["unknown"]?.intValue == 1 && done?["refused"]?.intValue == 0)
        #expect(done?["refused_file"]?.stringValue == "\(path).refused.csv")
        #expect(try database.count("SELECT count(*) FROM entitled.action WHERE kind = 'import'") >= Int64(ids.count))
        let worker = try site.start("worker")
        _ = try worker.address("admin")
        try eventually("it is applied") { try database.count("SELECT count(*) FROM entitled.pending") == 0 }
        try site.run("rebuild", "--dry-run")
        let again = try site.run("import", "--csv", path, "--app", "demo", "--json").document
        #expect(again?["imported"]?.intValue == 0 && again?["already"]?.intValue == Int64(ids.count))
        withExtendedLifetime((worker, store)) {}
    }

    @Test func `wrong files and apps are one line each`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        let path = "\(site.folder)/wrong.csv"
        try "app_user_id,email\nu,e\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try site.run("import", "--csv", path, "--app", "demo", status: 1).log.contains("'email' is not known"))
        #expect(try site.run("import", "--csv", "\(path).no", "--app", "demo", status: 1).log.contains("cannot read"))
        #expect(try site.run("import", "--csv", path, "--app", "other", status: 2).log.contains("demo"))
        try "app_user_id,jws\nu,\"e\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try site.run("import", "--csv", path, "--app", "demo", status: 1).log.contains("never closed"))
        try "app_user_id,jws\nu,e\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try site.run("import", "--csv", path, "--app", "demo", status: 1).log.contains("no server_api"))
    }
}
