import Base
import Crypto
import Database
import Postgres
import Subscriptions
import TestSupport

/// Rows as workers, apps, consumers and operators leave them, with texts of a test's choice in every field that has one.
struct Records {
    let console: RunningConsole
    let now = RunningConsole.start
    private static let day: Int64 = 86_400_000

    func browser(_ role: OperatorRole = .operator) throws -> TestBrowser {
        let name = "\(role.rawValue)\(Hex.encode(SecureRandom.bytes(4)))"
        try console.addUser(name, role)
        let browser = TestBrowser(console)
        let link = try console.link(for: name)
        browser.open(link)
        try browser.submit(link)
        return browser
    }

    func sql(_ text: String, _ values: [PostgresValue] = []) throws { try console.database.execute(text, values) }

    /// What a worker writes when Apple signed a transaction: a month of 9.99, ten days of which are over.
    func buy(
        _ owner: String, _ id: String, product: String = "monthly", environment: StoreEnvironment = .production,
        offer: String? = nil
    ) throws {
        let key = PurchaseKey(app: "demo", environment: environment, originalTransactionID: id)
        let bought = now - 10 * Records.day
        let payload = JSON.object([
            "transactionId": .string(id), "originalTransactionId": .string(id), "productId": .string(product),
            "purchaseDate": .int(bought), "originalPurchaseDate": .int(bought),
            "expiresDate": .int(bought + 30 * Records.day), "type": .string("Auto-Renewable Subscription"),
            "signedDate": .int(bought), "price": .int(9990), "currency": .string("USD"), "storefront": .string("DEU"),
            "offerIdentifier": offer.map { .string($0) }, "offerType": offer.map { _ in .int(2) },
        ])
        let fact = FactRow(
            kind: .transaction, signedDate: bought, header: nil, signature: nil, payload: payload.bytes)
        try console.onHost { connection in
            try connection.transaction {
                try CustomerTable.make([owner], now: bought, on: connection)
                try FactTable.insert([FactTable.New(key: key, seq: 1, fact: fact)], on: connection)
                let facts = try FactTable.load([key], on: connection).first
                guard let facts, let purchase = Purchase(folding: facts, key: key) else {
                    throw TestFailure("no purchase of \(id)")
                }
                try PurchaseTable.write(
                    [PurchaseRecord(purchase, owner: owner, wake: nil)], now: bought, on: connection)
                try ProductTable().note([purchase], now: bought, on: connection)
            }
        }
    }

    func ask(_ id: String, product: String = "monthly", reason: String, left: Int64, state: String = "open") throws {
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: id)
        try sql(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
                reasons, repeats, asked_ms, deadline_ms, state, failure)
            VALUES ($1, 'demo', 0, $2, $2, $3, ARRAY[$4], 0, $5, $6, $7, $4)
            """,
            [
                .int2(key.lane.number), .text(id), .text(product), .text(reason), .int8(now - 3_600_000),
                .int8(now + left), .text(state),
            ])
    }

    /// - Parameter seq: of the log, which says when it came.
    func notify(
        _ uuid: String, about id: String, type: String, signed: Int64, seq: Int64, source: NotificationSource = .store,
        held reason: String? = nil
    ) throws {
        let lane = Lane(app: "demo", environment: .production, subject: id).number
        try sql(
            """
            INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, subtype, original_transaction_id,
                signed_ms, received_ms, source, header, payload, signature)
            VALUES ($1, $2, 'demo', 0, $3, $4, $4, $5, $6, $6, $7, gen_random_uuid(), '', '')
            """,
            [
                .int2(lane), .int8(seq), .text(uuid), .text(type), .text(id), .int8(signed), .int2(source.rawValue),
            ])
        try sql(
            "INSERT INTO entitled.notification_key (key, app, environment, lane, seq) VALUES ($1, 'demo', 0, $2, $3)",
            [.uuid(NotificationIdentity.key(uuid)), .int2(lane), .int8(seq)])
        guard let reason else { return }
        try sql(
            """
            INSERT INTO entitled.held_notification (lane, seq, reason, held_ms, attempts) VALUES ($1, $2, $3, 1, 2)
            """, [.int2(lane), .int8(seq), .text(reason)])
    }

    /// A minute in which notifications could be stored.
    func listen(_ minute: Int64) throws { try sql("INSERT INTO entitled.listening VALUES ($1)", [.int8(minute)]) }

    /// By the database's clock.
    func minute() throws -> Int64 {
        try console.database.count("SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::int8")
    }

    func job(
        _ kind: String, request: String, parameters: JSON = .object([]), madeBy: String = "anna", state: String,
        fraction: Double = 0, error: String? = nil
    ) throws -> Int64 {
        try sql(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, state, fraction, matched, queued, skipped, error,
                created_ms, updated_ms, finished_ms)
            VALUES ($1, $2, $3, $4, $5, $6, 12345, 7004, 3, $7, $8, $8, CASE WHEN $5 = 'running' THEN NULL ELSE $8 END)
            """,
            [
                .text(kind), .text(request), .text(parameters.text), .text(madeBy), .text(state),
                .float8(fraction), .text(error), .int8(now - 60_000),
            ])
        return try console.database.count("SELECT max(id) FROM entitled.job")
    }

    /// A change that an operator asked for, with the entry of the audit.
    func change(_ kind: ChangeKind, of target: String, reason: String, by user: String, message: String) throws -> Int64
    {
        try sql(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, state, fraction, error, created_ms, updated_ms,
                finished_ms, target, reason, idempotency_key, request_hash, credential, address, user_agent)
            VALUES ($1, md5($2 || random()::text), $6, $3, 'failed', 0, $5, $7, $7, $7, $2, $4, 'k' || random()::text, '',
                'session x', $5, $5)
            """,
            [
                .text(kind.rawValue), .text(target), .text(user), .text(reason), .text(message),
                .text(JSON.object(["entitlement": .string(reason)]).text), .int8(now - 60_000),
            ])
        let job = try console.database.count("SELECT max(id) FROM entitled.job")
        try sql(
            """
            INSERT INTO entitled.audit (at_ms, actor, credential, address, user_agent, kind, target, reason, outcome, message, job)
            VALUES ($1, $2, 'session x', $3, $3, $4, $5, $6, 'failed', $3, $7)
            """,
            [
                .int8(now - 60_000), .text(user), .text(message), .text(kind.rawValue), .text(target), .text(reason),
                .int8(job),
            ])
        return job
    }
}
