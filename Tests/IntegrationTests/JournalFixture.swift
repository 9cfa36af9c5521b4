import Base
import Customers
import Database
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import Subscriptions
import Synchronization
import TestSupport

/// A database, a copy of it as a backup would have it, and a journal of what was done since.
final class JournalFixture {
    let database: TestDatabase
    /// As it was before.
    private(set) var backup: TestDatabase
    private let folder: String
    var file: String { "\(folder)/entitled.journal" }

    private static let settings = FoldSettings(defaultGrace: .seconds(3 * 86_400))
    static let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])

    /// What every test begins with: a customer "ann" with a grant and an attribute, "bob" with a purchase, and "gone-person"
    /// with a grant.
    private static let template = Result {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 311, number: 1, withToken: false)
        _ = try installation.post(life.start(at: Installation.start))
        try installation.untilApplied(1)
        worker.stop()
        installation.drain()
        try act(on: installation.database) { actions, connection in
            _ = try actions.grant("pro", to: "ann", .lasting(.weekly), on: connection)
            _ = try actions.setAttributes(attribute("$email", "old@example.com"), of: "ann", on: connection)
            _ = try actions.admit("bob", on: connection)
            _ = try actions.claim(
                PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID),
                by: "bob", settings: RestoreSettings(general: .transfer), on: connection)
            _ = try actions.grant("pro", to: "gone-person", .lasting(.monthly), on: connection)
            _ = try APIKeyTable.create(.public, app: nil, scope: "write", name: "first", now: 1, on: connection)
            _ = try addEndpoint("https://one.example.com", on: connection)
        }
        try installation.database.terminateConnections()
        return installation.database
    }

    init() throws {
        folder = try TemporaryFolder.make()
        database = try JournalFixture.copy(of: try JournalFixture.template.get())
        backup = database
    }

    deinit { TemporaryFolder.remove(folder) }

    static func attribute(_ key: String, _ value: String) -> JSON {
        .object([JSON.Member(name: key, value: .object(["value": .string(value)]))])
    }

    /// Copies the database as it is at this moment.
    func takeBackup() throws {
        try database.terminateConnections()
        backup = try JournalFixture.copy(of: database)
    }

    private static let copying = Mutex(())

    /// One at a time: a template must have no connection, and copying it is one.
    private static func copy(of database: TestDatabase) throws -> TestDatabase {
        try copying.withLock { _ in try TestCluster.shared.makeDatabase(from: database) }
    }

    func act(_ body: (CustomerActions, PostgresConnection) throws -> Void) throws {
        try JournalFixture.act(on: database, body)
    }

    private static func act(
        on database: TestDatabase, _ body: (CustomerActions, PostgresConnection) throws -> Void
    ) throws {
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester", reason: "a test"), foldSettings: settings)
        try body(actions, try database.connect(role: "entitled_worker"))
    }

    static func addEndpoint(_ url: String, on connection: PostgresConnection) throws -> String {
        try EndpointTable.add(
            url: url, authorization: "Bearer x", environments: [], events: [], apps: [], sealer: sealer,
            now: SystemClock().now(), on: connection
        ).id
    }

    func firstEndpoint(_ connection: PostgresConnection) throws -> String {
        try connection.query("SELECT id FROM entitled.endpoint ORDER BY created_ms LIMIT 1").one().text("id")
    }

    /// Everything of which the backup knows nothing.
    func actAfterBackup() throws {
        try act { actions, connection in
            _ = try actions.grant("pro", to: "carl", .lasting(.yearly), on: connection)
            _ = try actions.alias("bob", "bobby", on: connection)
            _ = try actions.revoke("pro", from: "ann", on: connection)
            _ = try actions.setAttributes(
                JournalFixture.attribute("$email", "new@example.com"), of: "ann", on: connection)
            _ = try actions.setRestoreBehavior(.keep, of: "ann", on: connection)
            _ = try actions.transfer(from: "bobby", to: "dora", on: connection)
            _ = try actions.grant("pro", to: "late-person", .lasting(.weekly), on: connection)
            _ = try actions.delete("gone-person", on: connection)
            _ = try actions.delete("late-person", on: connection)
            let second = try JournalFixture.addEndpoint("https://two.example.com", on: connection)
            _ = try EndpointTable.disable(second, reason: "a test", on: connection)
            let first = try firstEndpoint(connection)
            _ = try EndpointSecrets.rotate(
                of: first, sealer: JournalFixture.sealer, now: SystemClock().now(), on: connection)
            let key = try APIKeyTable.list(on: connection)[0].id
            _ = try APIKeyTable.revoke(key, now: 2, on: connection)
            _ = try APIKeyTable.create(.secret, app: nil, scope: "read", name: "second", now: 3, on: connection)
        }
    }

    /// Carries deletions out.
    func sweep(_ database: TestDatabase) throws {
        let connection = try database.connect(role: "entitled_worker")
        let erasure = CustomerErasure(foldSettings: JournalFixture.settings, patience: .zero)
        while try erasure.step(on: connection) {}
    }

    // MARK: - The journal

    @discardableResult
    func export(
        _ database: TestDatabase? = nil, to path: String? = nil, since: Int64? = nil
    ) throws -> JournalExport.Result {
        let connection = try (database ?? self.database).connect(role: "entitled_worker")
        return try JournalExport(to: path ?? file, since: since, on: connection).run(on: connection)
    }

    func apply(
        _ path: String? = nil, to database: TestDatabase? = nil, isDry: Bool = false, sealer: SecretSealer? = nil
    ) throws -> JournalApplication.Counts {
        try JournalApplication(
            of: path ?? file, patience: .seconds(86_400), foldSettings: JournalFixture.settings, isDry: isDry
        ).run(
            sealer: sealer ?? JournalFixture.sealer, on: try (database ?? backup).connect(role: "entitled_worker"),
            progress: { _, _ in })
    }

    func text() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

    func write(_ text: String, to name: String = "other.journal") throws -> String {
        try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        return "\(folder)/\(name)"
    }

    // MARK: - What a database says

    private static let queries = [
        "SELECT 'id ' || id || ' ' || original_app_user_id || ' ' || first_seen_ms FROM entitled.app_user_id",
        "SELECT 'customer ' || original_app_user_id || ' ' || coalesce(restore_behavior, '-') || ' ' || coalesce(offering_override, '-') FROM entitled.customer",
        "SELECT 'attribute ' || app_user_id || ' ' || key || ' ' || value || ' ' || updated_ms FROM entitled.customer_attribute",
        "SELECT 'purchase ' || original_transaction_id || ' ' || owner || ' ' || coalesce(access_ends_ms, 0) || ' ' || coalesce(revoked_ms, 0) FROM entitled.purchase",
        "SELECT 'endpoint ' || (to_jsonb(e) - 'paused_until_ms' - 'revision')::text FROM entitled.endpoint e",
        "SELECT 'secret ' || s::text FROM entitled.endpoint_secret s",
        "SELECT 'key ' || (to_jsonb(k) - 'last_used_ms')::text FROM entitled.api_key k",
        "SELECT 'deleted ' || encode(hash, 'hex') || ' ' || at_ms || ' ' || action FROM entitled.deletion_id",
        "SELECT 'action ' || a::text FROM entitled.action a WHERE kind <> 'delete' AND NOT app_user_id LIKE '$RCAnonymousID:%'",
        "SELECT 'fact ' || kind || ' ' || encode(digest::text::bytea, 'hex') FROM entitled.fact",
    ]

    static func state(_ database: TestDatabase) throws -> [String] {
        try queries.flatMap { try database.texts("SELECT t FROM (\($0)) q(t) ORDER BY t") }
    }

    /// In what the backup differs from the database, except for facts that it has in addition: both name a deleted owner by
    /// random pseudonyms.
    func lacking() throws -> [String] {
        let (one, other) = (Set(try JournalFixture.state(backup)), Set(try JournalFixture.state(database)))
        return one.symmetricDifference(other).map { (one.contains($0) ? "too much: " : "lost: ") + $0 }
            .filter { !$0.hasPrefix("too much: fact ") }.sorted()
    }

    func differences(_ database: TestDatabase) throws -> [String] {
        var lines: [String] = []
        _ = try RecordRebuild(patience: .seconds(86_400), foldSettings: JournalFixture.settings, isDry: true).run(
            on: try database.connect(), progress: { _ in }, found: { lines.append($0.line) })
        return lines
    }
}
