import Base
import CLI
import Daemon
import Foundation
import Postgres
import TestSupport
import Testing

@testable import EntitledApp

/// What `entitled setup` does with what changes between its plan and its work.
@Suite final class SetupPlanTests {
    private let folder: String
    private let server: TestPasswordServer

    init() throws {
        folder = try TemporaryFolder.make()
        server = try TestPasswordServer()
        try "\(server.url)\n".write(toFile: "\(folder)/admin", atomically: true, encoding: .utf8)
        let text = "{ state_dir: \"\(folder)/state\", secrets_dir: \"\(folder)/secrets\" }"
        try text.write(toFile: "\(folder)/entitled.json5", atomically: true, encoding: .utf8)
    }

    deinit { TemporaryFolder.remove(folder) }

    private var contents: [String: String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/secrets")) ?? []
        return Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, (try? String(contentsOfFile: "\(folder)/secrets/\(name)", encoding: .utf8)) ?? "")
            })
    }

    /// - Parameter ask: what happens before the person says yes; nil: no one is asked.
    private static func setup(
        _ folder: String, ask: (@Sendable () -> Void)? = nil
    ) -> ProgramFixture.Outcome {
        let (output, errors) = (ProgramFixture.Tape(), ProgramFixture.Tape())
        let answer: (@Sendable (String) -> String)? = ask.map { ask in
            { @Sendable _ in
                ask()
                return "yes"
            }
        }
        let words = ["setup", "--superuser-url-file", "\(folder)/admin", "--config", "\(folder)/entitled.json5"]
        let status = EntitledApp.program.run(
            words, terminal: Terminal(isInteractive: false, ask: answer, output: output.add, errors: errors.add),
            standardInput: { .contents([]) },
            surroundings: ConfigurationContext(
                environment: [:], workingDirectory: folder, isSuperuser: false, readFile: FileReading.read))
        return ProgramFixture.Outcome(status: status, output: output.text, errors: errors.text)
    }

    @Test func `what another run has made meanwhile stays as it is`() throws {
        let other = Monitor<[String: String]>([:])
        let refused = Self.setup(folder) { [folder] in
            let outcome = Self.setup(folder)
            other.change { $0 = ["status": "\(outcome.status)"] }
            for key in ["database_url", "database_worker_url", "webhooks_secret_keys"] {
                let text = try? String(contentsOfFile: "\(folder)/secrets/\(key)", encoding: .utf8)
                other.change { $0[key] = text ?? "" }
            }
        }
        let made = other.read { $0 }
        #expect(made["status"] == "0")
        #expect(
            refused.status == 1 && refused.errors.contains("has changed since this was planned"), "\(refused.errors)")
        for key in ["database_url", "database_worker_url", "webhooks_secret_keys"] {
            #expect(contents[key] == made[key] && made[key] != "", "\(key)")
        }
        let again = Self.setup(folder) {}
        #expect(again.output.contains("nothing to do"), "\(again.errors)")
    }

    @Test func `a file that comes meanwhile is not replaced`() throws {
        let path = "\(folder)/secrets/webhooks_secret_keys"
        let key = Base64.encode([UInt8](repeating: 7, count: 32)) + "\n"
        let refused = Self.setup(folder) { [folder] in
            mkdir("\(folder)/secrets", 0o700)
            try? key.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(refused.status == 1 && contents == ["webhooks_secret_keys": key], "\(refused.errors)")
        #expect(try server.connection().query("SELECT FROM pg_roles WHERE rolname = 'entitled'").first == nil)
        let files = SecretFiles(folder: "\(folder)/secrets")
        #expect(throws: CommandFailure.self) { try files.write("other", of: "webhooks.secret_keys", isNew: true) }
        #expect(contents == ["webhooks_secret_keys": key])
        try files.write("other", of: "webhooks.secret_keys", isNew: false)
        #expect(contents == ["webhooks_secret_keys": "other\n"])
    }

    @Test func `the local administrator uses the socket that the URL names`() throws {
        func host(_ url: String) throws -> [String?] {
            let target = try LocalSuperuser(url: nil, standing: Redacted(url)).target
            return [target.user, try DatabasePlace(target).description]
        }
        #expect(try host("postgres:///shop?host=/srv/pg2&port=5433") == ["postgres", "/srv/pg2:5433/postgres"])
        #expect(try host("postgres://a:b@localhost:5433/shop") == ["postgres", "/var/run/postgresql:5433/postgres"])
        #expect(throws: CommandFailure.self) { try host("postgres://db.example.com/shop") }
        let (own, other) = ("postgres:///x?host=/srv/pg1", "postgres:///x?host=/srv/pg2")
        #expect(throws: CommandFailure.self) { try LocalSuperuser(url: Redacted(own), standing: Redacted(other)) }
    }

    @Test(arguments: [
        ("postgres://a@db/x", "host=DB user=b dbname=x port=5432", true),
        ("postgres://a@db/x", "postgres://a@db/y", false),
        ("postgres://a@db/x", "postgres://a@db:6432/x", false), ("postgres://a@d1,d2/x", "postgres://a@d1/x", false),
        ("postgres://a@d1,d2/x", "postgres://b@d1:5432,d2/x", true), ("postgres://x@db", "postgres://a@db/x", true),
        ("postgres://a@127.0.0.1/x", "postgres:///x?host=/var/run/postgresql", true),
        ("postgres:///x?host=/srv/pg1", "postgres:///x?host=/srv/pg2", false),
        ("postgres:///x?host=/run/postgresql/", "postgres:///x", true),
        ("postgres://a@db/x?hostaddr=10.0.0.1", "postgres://a@db/x?hostaddr=10.0.0.2", false),
    ])
    func `two URLs lead to one place where servers, ports and database are the same`(
        one: String, other: String, isSame: Bool
    ) throws {
        let places = try [one, other].map { try DatabasePlace(PostgresTarget(url: $0)) }
        #expect(places[0].isSame(as: places[1]) == isSame && places[1].isSame(as: places[0]) == isSame)
    }
}
