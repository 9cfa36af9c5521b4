import Base
import Crypto
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

/// Endpoints that get the document of its customer with each event.
@Suite struct IncludedCustomerTests {
    private let installation: Installation
    private let connection: PostgresConnection
    private let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())

    init() throws {
        installation = try Installation()
        connection = try installation.database.connect(role: "entitled_worker")
    }

    private func add(
        _ consumer: Consumer, includesSubscriber: Bool = true, extensionVersion: String? = nil,
        ordering: Ordering = .none
    ) throws -> EndpointTable.Added {
        try EndpointTable.add(
            url: consumer.url(), authorization: nil, environments: [], events: [], apps: [],
            includesSubscriber: includesSubscriber, extensionVersion: extensionVersion, ordering: ordering,
            sealer: installation.sealer, now: SystemClock().now(), on: connection)
    }

    private static func info(_ request: Consumer.Request, _ name: String = "customer_info") -> JSON? {
        (try? JSON(parsing: request.body))?[name]
    }

    private static func expiry(_ info: JSON?) -> String? {
        info?["subscriber"]?["entitlements"]?["pro"]?["expires_date"]?.stringValue
    }

    @Test(arguments: [Ordering.none, .purchase])
    func `each event carries its customer, signed with it, and behind the same bytes as for all others`(
        ordering: Ordering
    ) throws {
        let (whole, plain) = (try Consumer(), try Consumer())
        let added = try add(whole, ordering: ordering)
        _ = try installation.addEndpoint(plain)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); whole.stop(); plain.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 601)
        let token = try #require(life.account.token)
        try installation.postAll([life.start(at: Installation.start)])
        let first = try #require(try whole.wait(1).first)
        let info = try #require(Self.info(first))
        #expect(info["subscriber"]?["original_app_user_id"] == .string(token))
        #expect(info["subscriber"]?["subscriptions"]?["pro_monthly"]?["store"] == .string("app_store"))
        #expect(info["request_date_ms"]?.intValue != nil)
        let other = try #require(try plain.wait(1).first)
        #expect(
            String(decoding: first.body, as: UTF8.self).hasPrefix(
                String(decoding: other.body.dropLast(), as: UTF8.self)))
        #expect(Self.info(other) == nil)
        let fault = try #require(WebhookSignatureCheck(secrets: [added.secret.text])).fault(
            id: first.id, time: first.headers["webhook-timestamp"], standard: first.headers["webhook-signature"],
            revenueCat: first.headers["x-revenuecat-webhook-signature"], body: first.body, now: SystemClock().now())
        #expect(fault == nil)
        try installation.postAll([life.renew(at: Installation.start + 30 * StoreProduct.day)])
        let second = try #require(try whole.wait(2).last)
        #expect(second.type == "RENEWAL")
        #expect(try #require(Self.expiry(Self.info(second))) > #require(Self.expiry(info)))
    }

    @Test func `a retry carries the customer as they are then`() throws {
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        _ = try add(consumer)
        let worker = try RunningWorker(installation, schedule: [.milliseconds(100)])
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 602)
        try installation.postAll([life.start(at: Installation.start)])
        let first = try #require(try consumer.wait(1).first)
        try installation.postAll([life.renew(at: Installation.start + 30 * StoreProduct.day)])
        try installation.untilApplied(2)
        consumer.release(500)
        let again = try consumer.wait(3).filter { $0.id == first.id }
        #expect(again.count == 2 && again.last?.attempt == "2")
        #expect(again.last?.event == first.event)
        #expect(
            try #require(Self.expiry(again.last.flatMap { Self.info($0) })) > #require(Self.expiry(Self.info(first))))
    }

    @Test func `of a customer who was deleted meanwhile nothing is sent any more`() throws {
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        _ = try add(consumer)
        let worker = try RunningWorker(installation, schedule: [.milliseconds(100)])
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 603)
        let token = try #require(life.account.token)
        try installation.postAll([life.start(at: Installation.start)])
        _ = try consumer.wait(1)
        _ = try actions.delete(token, policy: .erase, on: connection)
        consumer.release(500)
        let again = try #require(try consumer.wait(2).last)
        #expect(Self.info(again)?["subscriber"]?["entitlements"] == .object([]))
        #expect(Self.info(again)?["subscriber"]?["subscriptions"] == .object([]))
    }

    @Test func `a transfer carries both customers`() throws {
        let consumer = try Consumer()
        _ = try add(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 604)
        let token = try #require(life.account.token)
        try installation.postAll([life.start(at: Installation.start)])
        _ = try consumer.wait(1)
        _ = try actions.admit(["heir"], on: connection)
        _ = try actions.transfer(from: token, to: "heir", on: connection)
        let transfer = try #require(try consumer.wait(2).last)
        #expect(transfer.type == "TRANSFER")
        #expect(Self.info(transfer)?["subscriber"]?["original_app_user_id"] == .string("heir"))
        #expect(Self.expiry(Self.info(transfer)) != nil)
        let origin = Self.info(transfer, "origin_customer_info")
        #expect(origin?["subscriber"]?["original_app_user_id"] == .string(token))
        #expect(Self.expiry(origin) == nil)
    }

    @Test func `a document that is too large is left to be asked for`() throws {
        _ = try actions.admit(["bob"], on: connection)
        let body = TestEvent.json(id: "00000000-0000-4000-8000-000000000001", appID: "demo", now: 1, customer: "bob")
        let delivery = DueDelivery(
            id: DeliveryID(lane: Lane(number: 1), event: [1], endpoint: "we_1"), endpoint: "we_1", event: [1],
            eventType: "TEST", attempts: 0, roundStart: 0, body: body.bytes)
        func customer(atMost largest: Int, _ content: CustomerLookup.Content = .answer) throws -> [UInt8]? {
            let lookup = CustomerLookup(
                document: SubscriberDocument(catalogue: installation.catalogue), foldSettings: FoldSettings(),
                largest: largest)
            return try lookup.add(to: [delivery], ["we_1": content], now: 5, on: connection) { try $0() }.first?
                .customers?.customer
        }
        let size = try #require(try customer(atMost: 10_000)).count
        #expect(try customer(atMost: size) != nil && customer(atMost: size - 1) == nil)
        #expect(try customer(atMost: 1, .subscriber) != nil)
    }

    // MARK: - RevenueCat's Firebase extension

    /// What the extension does with a request (functions/src/validate-and-get-payload.ts): the token's signature with the
    /// shared secret as text, then the text of its claim `payload` as JSON.
    private static func payload(_ request: Consumer.Request, secret: String) throws -> JSON {
        let token = try #require(try JSON(parsing: request.body)["token"]?.stringValue)
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        #expect(parts.count == 3)
        let header = try JSON(parsing: try #require(Base64.decodeURL(Array(parts[0].utf8))))
        #expect(header["alg"] == .string("HS256") && header["typ"] == .string("JWT"))
        let signature = Digest.hmacSHA256(key: Array(secret.utf8), Array("\(parts[0]).\(parts[1])".utf8))
        #expect(Base64.decodeURL(Array(parts[2].utf8)) == signature)
        let claims = try JSON(parsing: try #require(Base64.decodeURL(Array(parts[1].utf8))))
        let now = SystemClock().now() / 1000
        #expect(try #require(claims["exp"]?.intValue) > now && #require(claims["iat"]?.intValue) <= now + 5)
        return try JSON(parsing: Array(try #require(claims["payload"]?.stringValue).utf8))
    }

    /// As the extension's library does it: the algorithm, the signature and the times.
    private static let script = """
        import json, sys, jwt
        def read(token, secret):
            try:
                return json.loads(jwt.decode(
                    token, secret, algorithms=["HS256"], options={"require": ["exp", "iat", "payload"]})["payload"])
            except jwt.InvalidTokenError as error:
                return type(error).__name__
        print(json.dumps([read(*case) for case in json.load(open(sys.argv[1]))]))
        """

    @Test(.enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"))
    func `PyJWT takes the token with the endpoint's secret, and with no other`() throws {
        let consumer = try Consumer()
        let added = try add(consumer, includesSubscriber: false, extensionVersion: "0.1.18")
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 606)
        try installation.postAll([life.start(at: Installation.start)])
        let request = try #require(try consumer.wait(1).first)
        let token = try #require(try JSON(parsing: request.body)["token"]?.stringValue)
        let secret = added.secret.text
        let others = [WebhookSecret.generate().text, String(secret.dropFirst("whsec_".count))]
        let cases = ([secret] + others).map { JSON.strings([token, $0]) }
        let said = try #require(try PythonChecks.run(Self.script, .array(cases)).arrayValue)
        #expect(said[0]["event"]?["id"] == .string(request.id))
        #expect(said[0]["customer_info"]?["entitlements"]?["pro"] != nil)
        #expect(Array(said.dropFirst()) == others.map { _ in .string("InvalidSignatureError") })
    }

    @Test func `RevenueCat's Firebase extension gets the event and the customer in a signed token`() throws {
        let consumer = try Consumer()
        let added = try add(consumer, includesSubscriber: false, extensionVersion: "0.1.18")
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 605)
        let token = try #require(life.account.token)
        try installation.postAll([life.start(at: Installation.start)])
        let request = try #require(try consumer.wait(1).first)
        let payload = try Self.payload(request, secret: added.secret.text)
        #expect(payload["api_version"] == .string("0.1.18"))
        #expect(payload["event"]?["type"] == .string("INITIAL_PURCHASE"))
        #expect(payload["event"]?["id"] == .string(request.id))
        #expect(payload["event"]?["app_user_id"] == .string(token))
        #expect(payload["event"]?["aliases"] == .strings([token]))
        #expect(payload["customer_info"]?["original_app_user_id"] == .string(token))
        #expect(payload["customer_info"]?["entitlements"]?["pro"]?["product_identifier"] == .string("pro_monthly"))
        #expect(payload["origin_customer_info"] == nil)
        _ = try actions.admit(["heir"], on: connection)
        _ = try actions.transfer(from: token, to: "heir", on: connection)
        let transfer = try Self.payload(try #require(try consumer.wait(2).last), secret: added.secret.text)
        #expect(
            transfer["event"]?["app_user_id"] == .string("heir") && transfer["event"]?["aliases"] == .strings(["heir"]))
        #expect(transfer["event"]?["origin_app_user_id"] == .string(token))
        #expect(transfer["customer_info"]?["entitlements"]?["pro"] != nil)
        #expect(transfer["origin_customer_info"]?["entitlements"] == .object([]))
    }
}
