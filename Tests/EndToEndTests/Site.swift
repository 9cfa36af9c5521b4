import Base
import Crypto
import Daemon
import FoundationEssentials
import Glibc
import HTTP
import Postgres
import StoreSimulator
import TestSupport

/// A folder with a configuration, a store that it trusts, and a way to send what the store signs.
final class Site: Sendable {
    static let app = StoreApp(environment: "Production")
    static let start = SystemClock().now() - 20 * StoreProduct.day

    let folder: String
    let database: TestDatabase?
    private let program: Monitor<String>
    let pki: StorePKI
    private let signer: NotificationSigner
    private let client: HTTPClient

    /// - Parameters:
    ///   - database: nil for the private cluster of `run`.
    ///   - program: another one than the build's.
    init(_ database: TestDatabase?, _ changes: [String: JSON] = [:], program: String = Program.path) throws {
        self.program = Monitor(program)
        folder = try TemporaryFolder.make()
        self.database = database
        pki = try StorePKI.generate(now: SystemClock().now())
        signer = NotificationSigner(pki)
        client = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) }, responseLimit: 1 << 20),
            logger: .silent,
            metrics: Metrics())
        client.start()
        try pki.root.pem.write(toFile: "\(folder)/root.pem", atomically: true, encoding: .utf8)
        try configure(changes)
    }

    deinit {
        client.stop()
        TemporaryFolder.remove(folder)
    }

    /// Processes and commands that are started from now on run this program.
    func install(_ path: String) { program.change { $0 = path } }

    /// Writes the configuration anew.
    func configure(_ changes: [String: JSON]) throws {
        let nowhere: JSON = .object(["listen": .string("127.0.0.1:0")])
        var sections: [String: JSON] = [
            "state_dir": .string("\(folder)/state"), "ingest": nowhere, "api": nowhere, "admin": nowhere,
            "worker": .object(["lease": .string("2s")]),
            "trust": .object(["root_sha256": .array([]), "root_files": .strings(["\(folder)/root.pem"])]),
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": .string(Site.app.bundleID),
                    "apple_app_id": .int(Site.app.appleAppID),
                ])
            ]),
            "entitlements": .object(["pro": .strings(["pro_monthly"])]),
            "webhooks": .object(["allow_private_networks": .strings(["127.0.0.0/8"])]),
        ]
        // Programs before the console do not know its section.
        if program.read({ $0 }) == Program.path { sections["console"] = nowhere }
        if let database { sections["database"] = .object(["url": .string(database.url)]) }
        sections.merge(changes) { _, new in new }
        let members = sections.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) }
        let path = "\(folder)/entitled.json5"
        try JSON.object(members).text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    func start(_ arguments: String..., environment: [String: String] = [:]) throws -> Program {
        try Program(
            running: [program.read { $0 }] + arguments + ["--config", "\(folder)/entitled.json5"], folder: folder,
            environment: environment)
    }

    /// As systemd starts a process that has a socket unit: with the socket, and variables that name this very process.
    func start(_ role: String, socket: Int32, environment: [String: String] = [:]) throws -> Program {
        let script = "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=entitled-\(role).socket exec \"$0\" \"$@\""
        return try Program(
            running: ["/bin/sh", "-c", script, program.read { $0 }, role, "--config", "\(folder)/entitled.json5"],
            folder: folder, environment: environment, socket: socket)
    }

    /// `entitled run` of a site without a database, once it has made or found its own, or has ended. How long initdb takes
    /// is the disk's affair.
    func startWithItsOwnDatabase() throws -> Program {
        let program = try start("run")
        try eventually(timeout: .seconds(90), "the private database runs; it said: \(program.log.suffix(2000))") {
            program.hasEnded || program.log.contains("private database started")
                || program.log.contains("private database adopted")
        }
        return program
    }

    /// Runs a command to its end; fails unless its status is this.
    @discardableResult
    func run(_ arguments: String..., status: Int32 = 0) throws -> Program { try run(arguments, status: status) }

    @discardableResult
    func run(_ arguments: [String], status: Int32 = 0, timeout: Duration = .seconds(40)) throws -> Program {
        let command = try Program(
            running: [program.read { $0 }] + arguments + ["--config", "\(folder)/entitled.json5"], folder: folder)
        let found = try command.wait(timeout: timeout)
        guard found == status else {
            throw TestFailure("\(arguments.joined(separator: " ")) ended with \(found): \(command.log)")
        }
        return command
    }

    /// - Parameter ordering: as `--ordering` takes it; nil: the default, and nothing that the first release did not know.
    func addEndpoint(_ consumer: Consumer, ordering: String? = nil) throws -> (id: String, secret: String) {
        let options = ordering.map { ["--ordering", $0] } ?? []
        let added = try run(["endpoints", "add", consumer.url(), "--json"] + options).document
        guard let id = added?["id"]?.stringValue, let secret = added?["secret"]?.stringValue else {
            throw TestFailure("endpoints add said nothing of use")
        }
        return (id, secret)
    }

    // MARK: - Requests

    func body(_ notification: StoreNotification) throws -> [UInt8] { try signer.sign(notification).body }

    /// The status of the answer; 0 where there was none.
    func post(_ notification: StoreNotification, to address: String) throws -> Int {
        post(try body(notification), to: address)
    }

    func post(_ body: [UInt8], to address: String) -> Int {
        send("POST", "http://\(address)/apple/notifications", body).status
    }

    func get(_ path: String, from address: String) -> (status: Int, text: String) {
        let answer = send("GET", "http://\(address)\(path)", [])
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private func send(_ method: String, _ url: String, _ body: [UInt8]) -> (status: Int, body: [UInt8]) {
        switch client.sendAndWait(OutgoingRequest(url: url, method: method, body: body)) {
        case .response(let response): (response.status, response.body)
        case .failure: (0, [])
        }
    }
}
