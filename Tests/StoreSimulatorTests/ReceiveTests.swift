import Base
import Crypto
import Synchronization
import Testing

@testable import StoreSimulator

@Suite struct ReceiveTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let published = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    private static let now: Int64 = 1_614_265_330_000

    private static func revenueCat(_ time: String = "1614265330", _ body: [UInt8] = body) -> String {
        "t=\(time),v1=\(Hex.encode(Digest.hmacSHA256(key: Array(secret.utf8), Array("\(time).".utf8) + body)))"
    }

    private static func fault(
        secrets: [String] = [secret], id: String? = "msg_p5jXN8AQM9LWM0D4loKWxJek", time: String? = "1614265330",
        standard: String? = published, revenueCat: String?, body: [UInt8] = body, now: Int64 = now
    ) throws -> String? {
        try #require(WebhookSignatureCheck(secrets: secrets)).fault(
            id: id, time: time, standard: standard, revenueCat: revenueCat, body: body, now: now)
    }

    @Test func `the published signature fits, alone and among others`() throws {
        let good = ReceiveTests.revenueCat()
        #expect(try ReceiveTests.fault(revenueCat: good) == nil)
        #expect(try ReceiveTests.fault(standard: "v1,AAAA \(ReceiveTests.published)", revenueCat: good) == nil)
        #expect(try ReceiveTests.fault(secrets: ["whsec_AAAA", ReceiveTests.secret], revenueCat: good) == nil)
        #expect(try ReceiveTests.fault(revenueCat: good + ",v1=00") == nil)
    }

    @Test func `whatever is changed is noticed`() throws {
        let good = ReceiveTests.revenueCat()
        #expect(try ReceiveTests.fault(id: "other", revenueCat: good) == "webhook-signature does not fit")
        #expect(try ReceiveTests.fault(id: nil, revenueCat: good)?.hasPrefix("no webhook-id") == true)
        #expect(try ReceiveTests.fault(secrets: ["whsec_AAAA"], revenueCat: good) == "webhook-signature does not fit")
        #expect(try ReceiveTests.fault(revenueCat: good, body: [1]) == "webhook-signature does not fit")
        #expect(
            try ReceiveTests.fault(revenueCat: good, now: ReceiveTests.now + 301_000)?.hasSuffix("is not now") == true)
        #expect(try ReceiveTests.fault(time: "9223372036854775807", revenueCat: good)?.hasSuffix("is not now") == true)
        #expect(try ReceiveTests.fault(revenueCat: nil) == "no x-revenuecat-webhook-signature")
        let other = ReceiveTests.revenueCat("1614265330", [1])
        #expect(try ReceiveTests.fault(revenueCat: other) == "x-revenuecat-webhook-signature does not fit")
        let late = ReceiveTests.revenueCat("1614260000")
        #expect(try ReceiveTests.fault(revenueCat: late)?.contains("no time that is now") == true)
    }

    @Test func `each event fails as often as wanted`() {
        let script = AnswerScript(failFirst: 2)
        #expect(["a", "a", "b", "a", "b", "b"].map(script.answer) == [500, 500, 500, 200, 500, 200])
    }

    @Test func `statuses are answered one after another`() {
        let script = AnswerScript(statuses: [429, 410])
        #expect((0..<4).map { _ in script.answer("a") } == [429, 410, 200, 200])
    }

    @Test func `control changes the answers, for a while or until told otherwise`() {
        let script = AnswerScript(statuses: [429])
        #expect(script.control(Array(#"{"status":503,"count":2}"#.utf8)))
        #expect((0..<3).map { _ in script.answer("a") } == [503, 503, 200])
        #expect(script.control(Array(#"{"status":500}"#.utf8)))
        #expect((0..<3).map { _ in script.answer("a") } == [500, 500, 500])
        #expect(script.control(Array(#"{"status":200}"#.utf8)))
        #expect(script.answer("a") == 200)
        for bad in ["", "{}", #"{"status":"500"}"#, #"{"status":99}"#, #"{"status":500,"count":0}"#] {
            #expect(!script.control(Array(bad.utf8)))
        }
    }

    @Test func `a consumer answers, checks and tells`() throws {
        let told = Mutex<[WebhookReceiver.Delivery]>([])
        let receiver = try WebhookReceiver(
            HostAndPort(host: "127.0.0.1", port: 0), signature: WebhookSignatureCheck(secrets: [ReceiveTests.secret]),
            script: AnswerScript()
        ) { delivery in told.withLock { $0.append(delivery) } }
        defer { receiver.stop() }
        let url = try #require(ReceiverURL("http://\(receiver.address)/hook"))
        let connection = ReceiverConnection(to: url, timeout: .seconds(20))
        let event = #"{"event":{"type":"RENEWAL","product_id":"pro","app_user_id":"u\n1","environment":"SANDBOX"}}"#
        #expect(try connection.post(Array(event.utf8)).status == 401)
        let control = ReceiverConnection(
            to: try #require(ReceiverURL("http://\(receiver.address)/control")), timeout: .seconds(20))
        #expect(try control.post(Array(#"{"status":500}"#.utf8)).status == 204)
        #expect(try control.post([]).status == 400)
        let delivery = try #require(told.withLock { $0.first })
        #expect(delivery.type == "RENEWAL" && delivery.product == "pro" && delivery.user == "u\n1")
        #expect(delivery.fault?.hasPrefix("no webhook-id") == true)
        #expect(delivery.text.contains("BAD SIGNATURE") && !delivery.text.contains("\n"))
        #expect(delivery.json["status"]?.intValue == 401)
    }
}
