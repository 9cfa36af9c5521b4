import Base
import Crypto
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport

/// A customer with ids in every place that there is: several ids, purchases with and without account tokens, one that came
/// from somebody else and one that went to somebody, events sent and not sent, answers that repeat an id, what is held, a
/// question about a refund.
final class PlantedCustomer {
    static let token = "dddddddd-1111-4111-8111-00000000beef"
    static let name = "Planted.User@example.com"
    static let third = "planted-third"
    static let winner = "winner"

    let installation: Installation
    let worker: RunningWorker
    let consumer: Consumer
    let raw: Consumer
    let connection: PostgresConnection
    let actions: CustomerActions
    /// With the token; without one; from somebody else; to somebody else.
    var first = PlantedCustomer.life(1, token: PlantedCustomer.token)
    var second = PlantedCustomer.life(2)
    var given = PlantedCustomer.life(3, token: "eeeeeeee-1111-4111-8111-000000000003")
    var lost = PlantedCustomer.life(4, token: PlantedCustomer.token)
    private(set) var anonymous = ""

    private static func life(_ number: UInt64, token: String? = nil) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: 4711, number: number)
        if let token { life.account.token = token }
        return life
    }

    /// - Parameter answering: of the consumer of events; by default it refuses everything, and says what it got.
    init(
        _ answering: @escaping @Sendable (Consumer.Request, Int) -> Consumer.Answer = { request, _ in
            .status(500, headers: ["x-echo": request.event?["app_user_id"]?.stringValue ?? PlantedCustomer.name])
        }
    ) throws {
        installation = try Installation()
        consumer = try Consumer(answering)
        raw = try Consumer { _, before in
            before < 8 ? .status(500, headers: ["x-echo": PlantedCustomer.token]) : .status(200)
        }
        _ = try installation.addEndpoint(consumer)
        let forwarding = try installation.addEndpoint(raw).id
        try installation.database.execute(
            "UPDATE entitled.endpoint SET format = 1 WHERE id = $1", [.text(forwarding)])
        worker = try RunningWorker(installation)
        connection = try installation.database.connect(role: "entitled_worker")
        actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester", reason: "as \(PlantedCustomer.name) asked"),
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        try plant()
    }

    func end() {
        worker.stop()
        consumer.stop()
        raw.stop()
    }

    func apply(_ notifications: StoreNotification...) throws {
        try installation.postAll(notifications)
        let database = installation.database
        try eventually("everything is applied") {
            try database.count("SELECT count(*) FROM entitled.pending") == 0
        }
    }

    /// Operators asked for something, and it was refused: once about them, and once about another thing on their behalf.
    private func plantChanges() throws {
        try plantChange(.revoke, PlantedCustomer.name, "revoke-\(PlantedCustomer.name)")
        try plantChange(.resend, "dlv_0", "resend-\(PlantedCustomer.name)")
    }

    private func plantChange(_ kind: ChangeKind, _ target: String, _ key: String) throws {
        let origin = ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil)
        let request = ChangeTable.Request(
            kind, target, parameters: .object(["entitlement": .string("pro")]),
            reason: "as \(PlantedCustomer.name) asked", by: origin, idempotencyKey: key,
            fingerprint: Digest.sha256(Array(PlantedCustomer.name.utf8)))
        _ = try ChangeTable.ask(request, on: connection)
        try connection.transaction {
            guard let change = try ChangeTable.take(on: connection) else { throw TestFailure("there is no change") }
            try ChangeTable.end(change, .refused("\(PlantedCustomer.name) has nothing."), on: connection)
        }
    }

    private func plant() throws {
        let day = StoreProduct.day
        try apply(first.start(at: Installation.start))
        try apply(second.start(at: Installation.start).withoutToken, given.start(at: Installation.start))
        anonymous = try owner(second) ?? ""
        _ = try actions.alias(PlantedCustomer.token, PlantedCustomer.name, on: connection)
        try plantChanges()
        _ = try actions.alias(anonymous, PlantedCustomer.name, on: connection)
        _ = try actions.alias(PlantedCustomer.name, PlantedCustomer.third, on: connection)
        _ = try actions.transfer(
            from: given.account.token ?? "", to: PlantedCustomer.third, on: connection)
        try apply(lost.start(at: Installation.start + 1))
        _ = try actions.transfer(
            from: PlantedCustomer.name, to: PlantedCustomer.winner, only: [lost.latest.originalID], on: connection)
        try apply(
            first.autoRenewOff(at: Installation.start + day),
            second.autoRenewOff(at: Installation.start + day).withoutToken,
            given.autoRenewOff(at: Installation.start + day),
            lost.autoRenewOff(at: Installation.start + day))
        _ = try consumer.wait(10)
        try eventually("what consumers answered is written down") { [installation] in
            try installation.database.count("SELECT count(*) FROM entitled.attempt WHERE head IS NOT NULL") == 18
        }
        try installation.database.execute(
            """
            INSERT INTO entitled.held_notification (lane, seq, reason, held_ms)
            SELECT lane, max(seq), 'a test', 1 FROM entitled.notification
            WHERE original_transaction_id = $1 GROUP BY 1
            """, [.text(first.latest.originalID)])
        try installation.database.execute(
            "INSERT INTO entitled.rebuild (started_ms, settings, lane, cursor) VALUES (1, 'x', 257, ARRAY[$1])",
            [.text(PlantedCustomer.name)])
        let key = key(first)
        let place: [PostgresValue] = [
            .int2(key.lane.number), .text(key.app), .int2(key.environment.code), .text(key.originalTransactionID),
        ]
        try installation.database.execute(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id,
                product_id, reasons, repeats, asked_ms, deadline_ms) VALUES ($1, $2, $3, $4, $4, 'p', '{}', 0, 1, 2)
            """, place)
        try installation.database.execute(
            """
            INSERT INTO entitled.status_look (lane, app, environment, original_transaction_id, end_ms, next_ms)
            VALUES ($1, $2, $3, $4, 1, 9000000000000)
            """, place)
        try installation.database.execute(
            """
            INSERT INTO entitled.account_look (lane, app, environment, original_transaction_id, transaction_id)
            VALUES ($1, $2, $3, $4, $4)
            """, place)
        try plantReports()
    }

    /// Reports of them, as a worker refreshes them.
    private func plantReports() throws {
        let terms = ReportTerms(
            catalogue: installation.catalogue, rates: DollarRates(), seller: SellerTerms(),
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        try ReportRefresh(terms).all(on: connection)
    }

    func key(_ life: SubscriberLife) -> PurchaseKey {
        PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
    }

    func owner(_ life: SubscriberLife) throws -> String? {
        try installation.database.texts(
            "SELECT owner FROM entitled.purchase WHERE original_transaction_id = $1", [.text(life.latest.originalID)]
        ).first
    }

    var needles: [String] { [PlantedCustomer.token, PlantedCustomer.name, PlantedCustomer.third, anonymous] }

    /// Deletes them, and sweeps to the end.
    @discardableResult
    func delete(_ policy: DeletionPolicy) throws -> DeletionTable.Entry? {
        let deletion = try actions.delete(PlantedCustomer.third, policy: policy, on: connection)
        try erasure(deletion.id)
        return try DeletionTable.find(deletion.id, on: connection)
    }

    func erasure(_ id: Int64, patience: Duration = .zero) throws {
        let erasure = CustomerErasure(
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), patience: patience)
        while try erasure.step(id, on: connection) == .more {}
    }

    /// What is exported; nil: nobody.
    func export(_ anyID: String) throws -> JSON? {
        var bytes: [UInt8] = []
        let api = try installation.database.connect(role: "entitled_api")
        guard let id = try CustomerQuery.resolve(anyID, on: api).appUserID else { return nil }
        return try CustomerExport().write(of: id, now: 1, on: api) { bytes += $0 } ? JSON(parsing: bytes) : nil
    }
}
