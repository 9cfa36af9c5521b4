import Base
import StoreSimulator
import Synchronization
import TestSupport

/// An installation with all its listeners, a customer who has bought everything once, and what was asked of it.
final class APIFixture: Sendable {
    static let publicKey = "appl_of_the_scene"
    static let secretKey = "sk_of_the_scene"

    let site: Site
    private let process: Program
    private let ports: (api: UInt16, ingest: UInt16)
    private let exchanges = Mutex<[Exchange]>([])

    /// A request with its answer.
    struct Exchange: Sendable {
        let method: String
        let path: String
        let request: [UInt8]
        let answer: HTTPCall

        /// As the scripts take it.
        var json: JSON {
            .object([
                "method": .string(method), "path": .string(path),
                "request": .string(String(decoding: request, as: UTF8.self)), "status": .int(Int64(answer.status)),
                "headers": .object(answer.headers.map { JSON.Member(name: $0.name, value: .string($0.value)) }),
                "body": .string(answer.text),
            ])
        }
    }

    /// - Parameter changes: of the configuration.
    init(_ changes: [String: JSON] = [:]) throws {
        let sections: [String: JSON] = [
            "api": .object([
                "listen": .string("127.0.0.1:0"), "public_keys": .strings([APIFixture.publicKey]),
                "secret_keys": .strings([APIFixture.secretKey]),
            ]),
            "entitlements": .object([
                "pro": .strings(["pro_monthly", "pro_yearly", "pro_lifetime"]),
                "basic": .strings(["basic_monthly"]),
            ]),
            "offerings": try APIFixture.offerings(),
            "ui_config": try PaywallDesigns.json(PaywallDesigns.userInterface),
            "placements": .object(["offerings": .object(["onboarding": .string("sale"), "settings": .null])]),
        ]
        site = try Site(try TestCluster.shared.makeDatabase(), sections.merging(changes) { _, new in new })
        try site.run("migrate")
        process = try site.start("run")
        ports = (try APIFixture.port(process.address("api")), try APIFixture.port(process.address("ingest")))
    }

    private static func offerings() throws -> JSON {
        let designs = [
            JSON.Member(name: "paywall", value: try PaywallDesigns.json(PaywallDesigns.template)),
            JSON.Member(name: "paywall_components", value: try PaywallDesigns.json(PaywallDesigns.components)),
        ]
        let usual = offering("What everybody sees", ["$rc_monthly": "pro_monthly", "$rc_annual": "pro_yearly"])
        return .object([
            "default": .object((usual.members ?? []) + designs),
            "sale": offering(
                "For a while", ["$rc_lifetime": "pro_lifetime", "starter": "basic_monthly"],
                .object(["badge": .string("new")])),
        ])
    }

    private static func offering(
        _ description: String, _ packages: KeyValuePairs<String, String>, _ metadata: JSON? = nil
    ) -> JSON {
        .object([
            "description": .string(description), "metadata": metadata,
            "packages": .array(packages.map { .object(["id": .string($0), "product": .string($1)]) }),
        ])
    }

    var baseURL: String { "http://127.0.0.1:\(ports.api)" }
    var ingestURL: String { "http://127.0.0.1:\(ports.ingest)" }

    private static func port(_ address: String) throws -> UInt16 {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw TestFailure("no port in \(address)")
        }
        return port
    }

    /// Of the operator API.
    func consolePort() throws -> UInt16 { try APIFixture.port(process.address("console")) }

    // MARK: - Requests

    /// - Parameter key: nil for none.
    @discardableResult
    func call(
        _ method: String, _ path: String, _ body: JSON? = nil, key: String? = APIFixture.secretKey,
        headers: [String: String] = [:]
    ) -> HTTPCall {
        var headers = headers
        if let key { headers["Authorization"] = "Bearer \(key)" }
        if body != nil { headers["Content-Type"] = "application/json" }
        let isNotification = path == "/apple/notifications"
        let answer = HTTPCall.send(
            method, path, headers: headers, body: body?.bytes ?? [], to: isNotification ? ports.ingest : ports.api)
        exchanges.withLock {
            $0.append(Exchange(method: method, path: path, request: body?.bytes ?? [], answer: answer))
        }
        return answer
    }

    /// What in the exchanges so far is not as the contract has it, and which of its answers were seen.
    func judge() throws -> (faults: [String], seen: Set<String>) {
        let all = exchanges.withLock { $0.map(\.json) }
        let said = try ContractFiles.run("answers.py", [ContractFiles.contract], input: .array(all))
        guard let faults = said["faults"]?.arrayValue, let seen = said["seen"]?.arrayValue else {
            throw TestFailure("answers.py did not say all")
        }
        return (faults.compactMap(\.stringValue), Set(seen.compactMap(\.stringValue)))
    }

    // MARK: - Customers

    /// One with a running subscription, one that ended, one that was refunded, purchases that do not renew, and a grant.
    ///
    /// - Returns: the id.
    func makeCustomer() throws -> String {
        let now = SystemClock().now()
        var running = SubscriberLife(app: Site.app, seed: 800, product: .proMonthly)
        let account = running.account
        running.start(at: now - 40 * StoreProduct.day)
        running.renew(at: now - 10 * StoreProduct.day)
        running.buyOnce(.coins, at: now - 9 * StoreProduct.day)
        running.buyOnce(.lifetime, at: now - 8 * StoreProduct.day)
        running.autoRenewOff(at: now - 7 * StoreProduct.day)
        var ended = SubscriberLife(app: Site.app, seed: 801, product: .basicMonthly)
        ended.account = account
        ended.start(at: now - 90 * StoreProduct.day)
        ended.expire(at: now - 60 * StoreProduct.day)
        var refunded = SubscriberLife(app: Site.app, seed: 802, product: .proYearly)
        refunded.account = account
        refunded.start(at: now - 20 * StoreProduct.day)
        refunded.refund(at: now - 19 * StoreProduct.day)
        let id = try account.token.map { $0 } ?? { throw TestFailure("no token") }()
        for notification in [running, ended, refunded].flatMap(\.notifications) {
            let body = try JSON(parsing: try site.body(notification))
            guard call("POST", "/apple/notifications", body, key: nil).status == 200 else {
                throw TestFailure("a notification was not taken")
            }
        }
        try eventually("all is applied") {
            let subscriber = call("GET", "/v1/subscribers/\(id)").json["subscriber"]
            return subscriber?["subscriptions"]?.members?.count == 3
                && subscriber?["non_subscriptions"]?.members?.count == 2
                && subscriber?["subscriptions"]?["pro_yearly"]?["refunded_at"]?.stringValue != nil
                && subscriber?["subscriptions"]?["pro_monthly"]?["unsubscribe_detected_at"]?.stringValue != nil
        }
        return id
    }

    /// A transaction as the device has it, signed.
    func transaction(seed: UInt64, product: StoreProduct = .proMonthly, withToken: Bool = false) throws -> String {
        let now = SystemClock().now()
        var life = SubscriberLife(app: Site.app, seed: seed, product: product, withToken: withToken)
        life.start(at: now - StoreProduct.day)
        return try NotificationSigner(site.pki).sign(life.latest.payload(signedDate: now))
    }

    /// The app's own purchase, signed.
    func appTransaction(seed: UInt64) throws -> String {
        let now = SystemClock().now()
        let account = SubscriberLife(app: Site.app, seed: seed).account
        return try NotificationSigner(site.pki).sign(
            .object([
                "receiptType": .string(Site.app.environment), "appAppleId": .int(Site.app.appleAppID),
                "bundleId": .string(Site.app.bundleID), "applicationVersion": .string("1"),
                "receiptCreationDate": .int(now), "originalPurchaseDate": .int(now - 100 * StoreProduct.day),
                "originalApplicationVersion": .string("1.0"), "appTransactionId": .string(account.appTransactionID),
                "originalPlatform": .string("iOS"),
            ]))
    }
}
