import Base
import Crypto
import Customers
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport

/// A database with an operator of each role, the customer `anna` and the endpoint `ep_1`; with what the console asks for and
/// what a worker does.
final class ChangeFixture: Sendable {
    static let entitlement = "pro"

    let database: TestDatabase
    let work = ChangeWork(
        entitlements: [ChangeFixture.entitlement], foldSettings: FoldSettings(), clock: SystemClock())

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try worker()
        for role in OperatorRole.allCases { _ = try ConsoleUserTable.add(role.rawValue, role, now: 1, on: worker) }
        try addCustomer("anna")
        try database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_1', 'https://example.com/hook', '{}', '{}', '{}', 1000)
            """)
    }

    func addCustomer(_ id: String) throws {
        try database.execute(
            "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, 1000)", [.text(id)])
        try database.execute(
            "INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ($1, $1, 1000)",
            [.text(id)])
    }

    func worker() throws -> PostgresConnection { try database.connect(role: "entitled_worker") }
    func console() throws -> PostgresConnection { try database.connect(role: "entitled_console") }

    // MARK: - Requests

    static func origin(_ user: String, key: String? = nil) -> ChangeOrigin {
        ChangeOrigin(
            user: user, credential: key.map { .key($0) } ?? .session("cs_1"), address: "203.0.113.7", userAgent: "test")
    }

    static func request(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON = .object([:]), as user: String = "operator",
        credential: String? = nil, reason: String = "ticket 77", key: String = "k1"
    ) -> ChangeTable.Request {
        ChangeTable.Request(
            kind, target, parameters: parameters, reason: reason, by: origin(user, key: credential),
            idempotencyKey: key,
            fingerprint: Digest.sha256(Array("\(kind) \(target) \(parameters.text) \(reason)".utf8)))
    }

    static func grant(
        to target: String = "anna", as user: String = "support", credential: String? = nil,
        reason: String = "ticket 77", key: String = "k1"
    ) -> ChangeTable.Request {
        request(
            .grant, target, .object(["entitlement": .string(entitlement), "duration": .string("monthly")]), as: user,
            credential: credential, reason: reason, key: key)
    }

    /// As the console's role; the number of the job.
    @discardableResult
    func ask(_ request: ChangeTable.Request) throws -> Int64 {
        guard case .asked(let id) = try ChangeTable.ask(request, on: console()) else {
            throw TestFailure("the change was asked for before")
        }
        return id
    }

    /// Asks, and has a worker do it.
    func ending(of request: ChangeTable.Request) throws -> ChangeEnding? {
        let id = try ask(request)
        let ended = try work.next(on: worker())
        return ended?.job == id ? ended?.ending : nil
    }

    func change(_ id: Int64) throws -> Change {
        guard let change = try ChangeTable.find(id, on: console()) else { throw TestFailure("no change \(id)") }
        return change
    }

    // MARK: - What is there

    func grants() throws -> Int64 {
        try database.count("SELECT count(*) FROM entitled.action WHERE kind = 'grant'")
    }

    /// Actor, kind, target, outcome and job of each entry.
    func audit() throws -> [String] {
        try database.texts(
            """
            SELECT concat_ws(' ', actor, kind, target, outcome, coalesce(job::text, '-')) FROM entitled.audit ORDER BY id
            """)
    }
}
