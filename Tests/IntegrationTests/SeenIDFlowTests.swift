import Base
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// By which id events name a customer: the one that an app or a backend used last.
@Suite struct SeenIDFlowTests {
    private let actions = CustomerActions(origin: ActionTable.Origin(actor: "api"), foldSettings: FoldSettings())

    private func identity(_ request: Consumer.Request?) -> [String?] {
        ["app_user_id", "original_app_user_id"].map { request?.event?[$0]?.stringValue }
    }

    @Test func `an event names the id that was used last, and not the one that was made last`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let bench = try PostingFixture(installation)
        var life = SubscriberLife(app: Installation.app, seed: 900, withToken: false)
        let jws = try PostingFixture.jws(life.start(at: Installation.start))
        #expect(bench.post(jws, by: "A_user").status == 200)
        #expect(identity(try consumer.wait(1).first) == ["A_user", "A_user"])
        let api = try installation.database.connect(role: "entitled_api")
        _ = try actions.alias("A_user", "B_user", on: api)
        // As `POST …/alias` and two GETs by the first id record it.
        for id in ["B_user", "A_user", "A_user"] { try SeenIDs.mark([id], now: SystemClock().now(), on: api) }
        try installation.postAll([life.autoRenewOff(at: Installation.start + StoreProduct.day)])
        #expect(identity(try consumer.wait(2).last) == ["A_user", "A_user"])
        // The next purchase is posted by the other one: already its first event says so.
        let renewal = try PostingFixture.jws(life.renew(at: Installation.start + 30 * StoreProduct.day))
        #expect(bench.post(renewal, by: "B_user").status == 200)
        let requests = try consumer.wait(3)
        #expect(identity(requests.last { $0.type == "RENEWAL" }) == ["B_user", "A_user"])
        try installation.expectNoDifferences()
    }

    @Test func `without a named id it is the device's, and not the one that was made for the account`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let bench = try PostingFixture(installation)
        let device = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        var life = SubscriberLife(app: Installation.app, seed: 901, withToken: false)
        let started = life.start(at: Installation.start)
        #expect(try installation.post(started).status == 200)
        let first = identity(try consumer.wait(1).first)
        #expect(first[0] != device && first[0]?.hasPrefix(Owner.anonymousPrefix) == true)
        #expect(bench.post(try PostingFixture.jws(started), by: device).status == 200)
        try installation.postAll([life.autoRenewOff(at: Installation.start + StoreProduct.day)])
        #expect(identity(try consumer.wait(2).last) == [device, first[1]])
    }
}
