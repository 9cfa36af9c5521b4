import Base
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@Suite struct FlowTests {
    @Test func `a notification comes in and a signed webhook goes out`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        let (endpoint, secret) = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 1)
        #expect(try installation.post(life.start(at: Installation.start)).status == 200)

        let request = try #require(try consumer.wait(1).first)
        let signature = WebhookSignatureCheck(secrets: [secret])
        let fault = try #require(signature).fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
        #expect(request.type == "INITIAL_PURCHASE")
        #expect(request.id == request.event?["id"]?.stringValue)
        #expect(request.attempt == "1")
        #expect(request.headers["authorization"] == "Bearer consumer")
        #expect(request.event?["app_user_id"]?.stringValue == life.account.token)
        #expect(request.event?["original_transaction_id"]?.stringValue == life.latest.originalID)
        try installation.untilDeliveries(1, .delivered)
        let listed = try DeliveryQuery.list(
            .init(endpoint: endpoint, state: .delivered), .init(limit: 5), on: try installation.database.connect()
        ).rows
        #expect(listed.map(\.event) == [request.id])
        #expect(listed.map(\.attempts) == [1])
    }

    @Test func `a consumption request that came in is in the history of its purchase, until it is decided`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 4)
        let asked = Installation.start + StoreProduct.day
        _ = try installation.post(life.start(at: Installation.start))
        _ = try installation.post(life.requestConsumption(reason: "LEGAL", at: asked))
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        func history() throws -> PurchaseHistory {
            PurchaseHistory(of: try #require(FactTable.load([key], on: installation.database.connect()).first))
        }
        try installation.untilApplied(2)
        let request = try #require(history().consumptionRequests.first)
        #expect(request.transactionID == life.latest.id)
        #expect(request.reasons == ["LEGAL"])
        #expect(try history().openConsumptionDeadline(after: asked) == request.deadline)
        _ = try installation.post(life.declineRefund(at: asked + 3_600_000))
        try installation.untilApplied(3)
        #expect(try history().openConsumptionDeadline(after: asked) == nil)
        #expect(try history().refundDecisions.map(\.kind) == [.declined])
    }

    @Test func `fifty copies at once are stored once and sent once`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        var life = SubscriberLife(app: Installation.app, seed: 2)
        let body = try Installation.signer.sign(life.start(at: Installation.start)).body
        let threads = (0..<50).map { _ in TestThread { installation.post(body) } }
        let answers = try threads.map { try $0.value() }
        #expect(answers.allSatisfy { $0.status == 200 })
        let texts = answers.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(texts.filter { $0 == #"{"status":"accepted"}"# }.count == 1)
        #expect(texts.filter { $0 == #"{"status":"duplicate"}"# }.count == 49)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        try installation.untilApplied(1)
        try installation.untilDeliveries(1, .delivered)
        #expect(consumer.requests.count == 1)
    }

    @Test func `a consumer that fails gets the same bytes under the same id again`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in .status(before < 2 ? 500 : 204) }
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation, schedule: [.milliseconds(100), .milliseconds(100)])
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 3)
        _ = try installation.post(life.start(at: Installation.start))
        let requests = try consumer.wait(3)
        #expect(requests.map(\.attempt) == ["1", "2", "3"])
        #expect(Set(requests.map(\.id)).count == 1)
        #expect(Set(requests.map(\.body)).count == 1)
        try installation.untilDeliveries(1, .delivered)
    }

    @Test func `after the last attempt a delivery is dead and nothing more is sent`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, _ in .status(500) }
        let (endpoint, _) = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation, schedule: [.milliseconds(50)])
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 4)
        _ = try installation.post(life.start(at: Installation.start))
        try installation.untilDeliveries(1, .dead)
        #expect(consumer.requests.count == 2)
        // Resent, it has the whole schedule before it again.
        let connection = try installation.database.connect(role: "entitled_worker")
        let dead = try #require(
            try DeliveryQuery.list(.init(endpoint: endpoint, state: .dead), .init(limit: 1), on: connection).rows.first)
        #expect(try DeliveryRepair.resend(dead.id, now: SystemClock().now(), on: connection) == .reopened)
        #expect(try consumer.wait(4).map(\.attempt) == ["1", "2", "3", "4"])
        try installation.untilDeliveries(1, .dead)
    }

    @Test func `410 disables the endpoint and what comes later is held until it is enabled`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in .status(before == 0 ? 410 : 200) }
        let (endpoint, _) = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 5)
        _ = try installation.post(life.start(at: Installation.start))
        try installation.untilDeliveries(1, .held)
        _ = try installation.post(life.autoRenewOff(at: Installation.start + StoreProduct.day))
        try installation.untilDeliveries(2, .held)
        #expect(consumer.requests.count == 1)
        let connection = try installation.database.connect(role: "entitled_worker")
        #expect(try EndpointTable.enable(endpoint, on: connection))
        try installation.untilDeliveries(2, .delivered)
        #expect(Set(consumer.requests.map(\.type)) == ["INITIAL_PURCHASE", "CANCELLATION"])
    }

    @Test func `429 with Retry-After pauses the endpoint for as long`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, before in
            before == 0 ? .status(429, headers: ["Retry-After": "3600"]) : .status(200)
        }
        let (endpoint, _) = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation, schedule: [.milliseconds(50)])
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 8)
        let before = SystemClock().now()
        _ = try installation.post(life.start(at: Installation.start))
        let connection = try installation.database.connect()
        try eventually("the endpoint is paused") {
            try EndpointTable.list(id: endpoint, on: connection).first?.pausedUntil ?? 0 >= before + 3_600_000
        }
        _ = try installation.post(life.autoRenewOff(at: Installation.start + StoreProduct.day))
        try installation.untilApplied(2)
        let deliveries = try DeliveryQuery.list(
            .init(endpoint: endpoint, state: .pending), .init(limit: 5), on: connection
        ).rows
        #expect(deliveries.count == 2)
        #expect(deliveries.map(\.attempts).sorted() == [0, 1])
        #expect(deliveries.contains { $0.attempts == 1 && $0.next >= before + 3_600_000 })
        #expect(consumer.requests.count == 1)
    }

    @Test func `a consumer that hangs delays no other`() throws {
        let installation = try Installation()
        let (slow, quick) = (try Consumer { _, _ in .hold }, try Consumer())
        _ = try installation.addEndpoint(slow)
        _ = try installation.addEndpoint(quick)
        let worker = try RunningWorker(installation, drainTimeout: .seconds(1))
        defer { worker.stop(); slow.stop(); quick.stop() }
        var lives = (0..<40).map { SubscriberLife(app: Installation.app, seed: 6, number: $0) }
        try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
        #expect(Set(try quick.wait(40).map(\.id)).count == 40)
        #expect(slow.requests.count <= 8)
    }

    @Test func `what nobody knows yet is stored, acknowledged and shown`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 7)
        _ = life.start(at: Installation.start)
        var novel = life.notify("BRAND_NEW", "NEVER_SEEN", at: Installation.start + 1000)
        novel.unknownMembers = [JSON.Member(name: "later", value: .string("x"))]
        #expect(try installation.post(novel).status == 200)
        try installation.untilApplied(1)
        #expect(try installation.heldReasons() == [])
        #expect(try installation.document(of: life.latest.originalID, now: Installation.start).contains("pro_monthly"))
    }
}
