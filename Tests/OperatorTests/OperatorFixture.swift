import Base
import Crypto
import Daemon
import Database
import HTTP
import Operator
import Postgres
import Schemas
import Subscriptions
import TestSupport

/// The console's listener as production has it, on a database with one customer.
final class OperatorFixture: Sendable {
    static let otid = "2000000000000001"
    static let now: Int64 = 1_795_000_000_000

    let database: TestDatabase
    let log = LogTape()
    let clock: ManualClock
    private let role: ConsoleRole
    private let server: HTTPServer
    private let port: UInt16
    /// A key of each role, by its name.
    let keys: [String: String]

    /// - Parameter refundApps: apps whose consumption requests are to be answered.
    init(events: Int = 3, refundApps: Set<String> = ["demo"]) throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        clock = ManualClock(OperatorFixture.now)
        let target = database.target(role: DatabaseRole.console.rawValue)
        let process = ProcessContext(clock: clock, logger: log.logger, metrics: Metrics()) { [log] prepare in
            PostgresSession(
                target, logger: log.logger, backOff: .milliseconds(20)...Duration.milliseconds(100)
            ) { connection in
                _ = try connection.query("SELECT set_config('statement_timeout', '2s', false)")
                try prepare(connection)
            }
        }
        var desk = DeskSettings(
            scopes: [AppScope(app: "demo", environment: .production)],
            catalogue: EntitlementCatalogue(["pro": ["monthly"], "gold": ["yearly"]]),
            retrySchedule: RetrySchedule(waits: [1000]))
        desk.refundApps = refundApps
        role = try ConsoleRole(ConsoleSettings(desk: desk, openAPI: Array("openapi: 3.1.0\n".utf8)), process)
        server = HTTPServer(ConsoleRole.listener(on: "127.0.0.1:0"), handler: role.handler, logger: log.logger)
        for service in role.services { try service.start() }
        try server.start()
        port = server.boundPort ?? 0
        let worker = try database.connect(role: "entitled_worker")
        var keys: [String: String] = [:]
        for role in OperatorRole.allCases {
            _ = try ConsoleUserTable.add(role.rawValue, role, now: 1, on: worker)
            keys[role.rawValue] = try OperatorKeyTable.create(
                for: role.rawValue, role, until: nil, now: 1, on: worker)?.key.exposed
        }
        self.keys = keys
        try fill(events: events)
    }

    /// A transaction of the fixture's purchase.
    func sign() throws {
        let key = PurchaseKey(
            app: "demo", environment: .production, originalTransactionID: OperatorFixture.otid)
        let id = JSON.string(OperatorFixture.otid)
        let bought = OperatorFixture.now - 1000
        let payload = JSON.object([
            "transactionId": id, "originalTransactionId": id, "productId": .string("monthly"),
            "purchaseDate": .int(bought), "originalPurchaseDate": .int(bought),
            "expiresDate": .int(bought + 86_400_000),
            "type": .string("Auto-Renewable Subscription"), "signedDate": .int(bought),
        ])
        let fact = FactRow(kind: .transaction, signedDate: bought, header: nil, signature: nil, payload: payload.bytes)
        let worker = try database.connect(role: "entitled_worker")
        try worker.transaction { try FactTable.insert([FactTable.New(key: key, seq: 1, fact: fact)], on: worker) }
    }

    deinit {
        server.drain(until: .now + .milliseconds(300))
        for service in role.services { service.drain(until: .now + .seconds(2)) }
    }

    private func fill(events: Int) throws {
        let lane = Lane(app: "demo", environment: .production, subject: OperatorFixture.otid).number
        try database.execute(
            "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ('anna', 1000), ('ben', 2000)")
        try database.execute(
            """
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            VALUES ('anna', 'anna', 1000), ('Anna@home', 'anna', 1001), ('ben', 'ben', 2000)
            """)
        try database.execute(
            """
            INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
            VALUES ('anna', '$email', 'annabel@example.com', 5000)
            """)
        try database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
                version, updated_ms) VALUES ($1, 'demo', 0, $2, 'anna', 'monthly', true, 1, 1000)
            """, [.int2(lane), .text(OperatorFixture.otid)])
        try database.execute(
            """
            INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body, sequence)
            SELECT $1, md5(n::text)::uuid, 'RENEWAL', 'demo', 0, $2, $3 - ($4 - n) * 60000, ''::bytea, n
            FROM generate_series(1, $4) n
            """,
            [.int2(lane), .text(OperatorFixture.otid), .int8(OperatorFixture.now), .int8(Int64(events))])
        let secret = "https://user:word@consumer.example.com/hook?token=hidden"
        try database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_1', $1, '{}', '{}', '{}', 1000)
            """, [.text(secret)])
        try database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, attempts, next_ms, created_ms)
            SELECT lane, substring(sha256(uuid_send(id) || 'ep_1'::bytea) FOR 16), 'ep_1', id, type, 1, 1, 0, created_ms
            FROM (SELECT lane, id, type, created_ms FROM entitled.event ORDER BY created_ms DESC LIMIT 3) e
            """.replacing(
                "substring(sha256(uuid_send(id) || 'ep_1'::bytea) FOR 16)",
                with: "encode(substring(sha256(uuid_send(id) || 'ep_1'::bytea) FOR 16), 'hex')::uuid"))
    }

    /// - Parameters:
    ///   - path: below `/operator/v1`.
    ///   - key: of this role; nil: none.
    func get(_ path: String, as role: OperatorRole? = .operator, headers: [String: String] = [:]) -> HTTPCall {
        call("GET", "/operator/v1\(path)", key: role.flatMap { keys[$0.rawValue] }, headers: headers)
    }

    func call(_ method: String, _ path: String, key: String?, headers: [String: String] = [:]) -> HTTPCall {
        var headers = headers
        if let key { headers["Authorization"] = "Bearer \(key)" }
        return HTTPCall.send(method, path, headers: headers, to: port)
    }

    /// - Parameters:
    ///   - path: below `/operator/v1`.
    ///   - idempotencyKey: nil: none is sent.
    func post(
        _ path: String, _ body: JSON, as role: OperatorRole = .operator,
        idempotencyKey: String? = Hex.encode(SecureRandom.bytes(8)),
        headers: [String: String] = [:]
    ) -> HTTPCall {
        send("POST", path, body, as: role, idempotencyKey: idempotencyKey, headers: headers)
    }

    /// A change by another method.
    func send(
        _ method: String, _ path: String, _ body: JSON, as role: OperatorRole = .operator,
        idempotencyKey: String? = Hex.encode(SecureRandom.bytes(8)), headers: [String: String] = [:]
    ) -> HTTPCall {
        var headers = headers
        if let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        headers["Authorization"] = "Bearer \(keys[role.rawValue] ?? "")"
        return HTTPCall.send(method, "/operator/v1\(path)", headers: headers, body: body.bytes, to: port)
    }

    func code(_ call: HTTPCall) -> String? { call.json["error"]?["code"]?.stringValue }
}
