import Base
import CLI
import Crypto
import Daemon
import Database
import EntitledApp
import FoundationEssentials
import Glibc
import HTTP
import Postgres
import Schemas
import TestSupport

/// An installation that a doctor looks at: a database as good as the doctor wants it, and a server in place of Apple's.
final class DoctorFixture: Sendable {
    /// Commits are durable there, as on no other cluster of tests.
    private static let shared = Result {
        let cluster = try TestCluster(.durableForMeasuring)
        return (cluster: cluster, template: try cluster.makeMigratedDatabase())
    }
    private static let number = Monitor(0)

    /// A copy of a migrated database.
    private static func copy() throws -> TestDatabase {
        let (cluster, template) = try shared.get()
        let connection = try PostgresConnection(PostgresTarget(url: cluster.url))
        // One at a time: a database that is copied must not be in use.
        return try number.change { number in
            number += 1
            let name = "doctor_\(number)"
            try connection.query("CREATE DATABASE \(name) TEMPLATE \(template.name)")
            let copy = TestDatabase(url: template.url.replacing(template.name, with: name), name: name)
            // The rights on a database itself are not copied.
            _ = try Migrator.migrate(on: try copy.connect())
            return copy
        }
    }

    /// Kept as long as this is.
    private let cluster: TestCluster?
    let folder: String
    let database: TestDatabase
    let apple: AppleStandIn
    private let changes: Monitor<[String: JSON]>

    /// An installation of which nothing works yet.
    ///
    /// - Parameter cluster: is kept as long as this is.
    init(of database: TestDatabase, keeping cluster: TestCluster? = nil) throws {
        self.cluster = cluster
        self.database = database
        folder = try TemporaryFolder.make()
        apple = try AppleStandIn(database)
        changes = Monitor([:])
        try SigningKey.generate(.p256).pem().write(toFile: key, atomically: true, encoding: .utf8)
        chmod(key, 0o600)
    }

    /// - Parameter cluster: another than the good one.
    convenience init(_ cluster: TestCluster? = nil) throws {
        try self.init(of: try cluster?.makeMigratedDatabase() ?? DoctorFixture.copy(), keeping: cluster)
        try database.execute(
            """
            WITH worker AS (INSERT INTO entitled.worker VALUES (gen_random_uuid(), 'here', now()) RETURNING id),
            heard AS (
                INSERT INTO entitled.listening SELECT floor(extract(epoch FROM now()) / 60)::int8 - ago
                FROM generate_series(0, 9) AS ago
            )
            UPDATE entitled.lane SET owner = worker.id, lease_until = now() + interval '1 hour' FROM worker
            """)
        _ = run(["endpoints", "add", "https://hooks.example.com/secret/path"])
    }

    deinit {
        apple.stop()
        TemporaryFolder.remove(folder)
    }

    var key: String { "\(folder)/AuthKey.p8" }

    /// Changes a section of the configuration.
    func configure(_ section: String, _ value: JSON) { changes.change { $0[section] = value } }

    func app(_ more: [String: JSON] = [:]) -> JSON {
        var members: [String: JSON] = [
            "id": .string("demo"), "bundle_id": .string("com.example.app"), "environments": .strings(["Sandbox"]),
            "server_api": .object([
                "issuer_id": .string("57246542-96fe-1a63-e053-0824d011072a"), "key_id": .string("KEY1234567"),
                "private_key_file": .string(key),
                "base_url": .string(apple.url),
            ]),
        ]
        members.merge(more) { _, new in new }
        return DoctorFixture.object(members)
    }

    private static func object(_ members: [String: JSON]) -> JSON {
        .object(members.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
    }

    /// Runs a command; the doctor waits only a moment for what Apple sends.
    ///
    /// - Parameter answer: what the person at the terminal answers to a question; nil: there is no terminal.
    func run(
        _ words: [String], isInteractive: Bool = false, screen: Screen? = nil, answer: String? = nil
    ) -> ProgramFixture.Outcome {
        var sections: [String: JSON] = [
            "state_dir": .string("\(folder)/state"), "database": .object(["url": .string(database.url)]),
            "apps": .array([app()]), "entitlements": .object(["pro": .strings(["pro_monthly"])]),
        ]
        sections.merge(changes.read { $0 }) { _, new in new }
        let path = "\(folder)/entitled.json5"
        try? DoctorFixture.object(sections).text.write(toFile: path, atomically: true, encoding: .utf8)
        let root = CommandTree.root.replacing(["doctor"]) { parsed in
            var doctor = try DoctorCommand(parsed)
            doctor.patience = .milliseconds(600)
            doctor.longestCommit = .zero
            return doctor
        }
        let (output, errors) = (ProgramFixture.Tape(), ProgramFixture.Tape())
        let surroundings = ConfigurationContext(
            environment: [:], workingDirectory: folder, isSuperuser: false, readFile: FileReading.read)
        let ask = answer.map { answer in
            { @Sendable (question: String) -> String in
                errors.add(Array("\(question)\n".utf8))
                return answer
            }
        }
        let status = Program(root: root).run(
            words + ["--config", path],
            terminal: Terminal(
                isInteractive: isInteractive, screen: screen, ask: ask, output: output.add, errors: errors.add),
            standardInput: { .contents([]) }, surroundings: surroundings)
        return ProgramFixture.Outcome(status: status, output: output.text, errors: errors.text)
    }

    /// Lines of the doctor's document that are not good: `name status message → action`.
    func complaints(_ more: [String] = []) -> [String] {
        DoctorFixture.complaints(of: run(["doctor", "--json"] + more))
    }

    static func complaints(of outcome: ProgramFixture.Outcome) -> [String] {
        guard let checks = outcome.document?["checks"]?.arrayValue else { return ["no document: \(outcome.errors)"] }
        return checks.filter { $0["status"]?.stringValue != "ok" }.map { line in
            ["name", "status", "message"].map { line[$0]?.stringValue ?? "" }.joined(separator: " ")
                + " → \(line["action"]?.stringValue ?? "")"
        }
    }
}

/// As much of Apple's Server API as the doctor asks for.
final class AppleStandIn: Sendable {
    enum Mood: Sendable {
        case delivers, refusesKey, hasNoURL, cannotDeliver
        /// Says that it did.
        case deliversElsewhere
    }

    private let mood = Monitor(Mood.delivers)
    private let server: HTTPServer
    let url: String

    init(_ database: TestDatabase) throws {
        let mood = mood
        var router = Router()
        @Sendable func on(_ body: @escaping @Sendable (Mood) -> HTTPResponse) -> Router.Action {
            { request, responder in
                let mood = mood.read { $0 }
                let isSigned = request.head.header("authorization")?.hasPrefix("Bearer ") ?? false
                responder.respond(!isSigned || mood == .refusesKey ? HTTPResponse(status: 401) : body(mood))
            }
        }
        router.on(
            "POST", "/inApps/v1/notifications/history",
            on { _ in .json(200, .object(["hasMore": .bool(false), "notificationHistory": .array([])])) })
        router.on(
            "POST", "/inApps/v1/notifications/test",
            on { mood in
                if mood == .hasNoURL { return .json(404, .object(["errorCode": .int(4_040_007)])) }
                if mood == .delivers { try? AppleStandIn.deliver(to: database) }
                return .json(200, .object(["testNotificationToken": .string("token")]))
            })
        router.on("GET", prefix: "/inApps/v1/notifications/test/", on(AppleStandIn.status))
        server = HTTPServer(
            HTTPServerConfiguration(role: "apple", listen: "127.0.0.1:0", threads: 1), handler: router, logger: .silent)
        try server.start()
        url = "http://127.0.0.1:\(server.boundPort ?? 0)"
    }

    func become(_ new: Mood) { mood.change { $0 = new } }

    func stop() { server.drain(until: .now + .milliseconds(300)) }

    private static func status(_ mood: Mood) -> HTTPResponse {
        let result = mood == .deliversElsewhere ? "SUCCESS" : "TLS_ISSUE"
        let attempt = JSON.object(["attemptDate": .int(1), "sendAttemptResult": .string(result)])
        return .json(200, .object(["signedPayload": .string("x"), "sendAttempts": .array([attempt])]))
    }

    /// What ingest would have stored.
    private static func deliver(to database: TestDatabase) throws {
        let now = SystemClock().now()
        try database.execute(
            """
            INSERT INTO entitled.notification
                (lane, seq, app, environment, uuid, type, signed_ms, received_ms, source, header, payload, signature)
            VALUES (3, $1, 'demo', 1, gen_random_uuid()::text, 'TEST', $2, $2, 0, gen_random_uuid(), '', '')
            """, [.int8(SequenceGenerator.least(at: now)), .int8(now)])
    }
}
