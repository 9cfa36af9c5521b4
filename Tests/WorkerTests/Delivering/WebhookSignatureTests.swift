import Base
import Crypto
import Database
import HTTP
import Testing
import Worker

@Suite struct WebhookSignatureTests {
    struct Vector: Sendable {
        let secret: String
        let id: String
        let timestamp: Int64
        let body: String
        let signature: String
    }

    /// Of the Standard Webhooks libraries.
    private static let vectors = [
        Vector(
            secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
            body: #"{"test": 2432232314}"#, signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        Vector(
            secret: "plJ3nmyCDGBKInavdOK15jsl", id: "msg_loFOjxBNrRLzqYUf", timestamp: 1_731_705_121,
            body: #"{"event_type":"ping","data":{"success":true}}"#,
            signature: "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="),
    ]

    private func headers(_ vector: Vector, _ secrets: [String]) throws -> [String: String] {
        // One of the published secrets is shorter than a new one may be.
        let secrets = try secrets.map {
            try WebhookSecret("whsec_\($0)") ?? WebhookSecret(plaintext: #require(Base64.decode(Array($0.utf8))))
        }
        let headers = WebhookSignature.headers(
            id: vector.id, timestamp: vector.timestamp, body: Array(vector.body.utf8), secrets: secrets)
        return Dictionary(headers) { first, _ in first }
    }

    @Test(arguments: vectors)
    func `the published vectors come out`(vector: Vector) throws {
        let headers = try headers(vector, [vector.secret])
        #expect(headers["webhook-id"] == vector.id)
        #expect(headers["webhook-timestamp"] == String(vector.timestamp))
        #expect(headers["webhook-signature"] == vector.signature)
    }

    @Test func `every live secret signs, newest first, in both headers`() throws {
        let vector = WebhookSignatureTests.vectors[0]
        let other = WebhookSignatureTests.vectors[1].secret
        let one = try headers(vector, [vector.secret])
        let two = try headers(vector, [other])
        let both = try headers(vector, [other, vector.secret])
        func standard(_ headers: [String: String]) -> String { headers["webhook-signature"] ?? "" }
        func revenueCat(_ headers: [String: String]) -> String { headers["x-revenuecat-webhook-signature"] ?? "" }
        #expect(standard(both) == "\(standard(two)) \(standard(one))")
        let (first, second) = (revenueCat(two).split(separator: ","), revenueCat(one).split(separator: ","))
        #expect(first.count == 2 && first[0] == "t=1614265330" && first[1].hasPrefix("v1="))
        #expect(revenueCat(both) == "\(first[0]),\(first[1]),\(second[1])")
    }

    @Test func `a key pair signs the same beside the secret, which comes first`() throws {
        // The key pair of the Standard Webhooks libraries: the private half, then the public one.
        let pair = try #require(
            Base64.decode(
                "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==".utf8))
        let (seed, publicKey) = (Array(pair.prefix(32)), Array(pair.suffix(32)))
        let vector = WebhookSignatureTests.vectors[0]
        let secret = try #require(WebhookSecret("whsec_\(vector.secret)"))
        let other = [UInt8](repeating: 3, count: 32)
        func signature(_ secrets: [WebhookSecret], _ seeds: [[UInt8]]) -> String {
            let headers = WebhookSignature.headers(
                id: vector.id, timestamp: vector.timestamp, body: Array(vector.body.utf8),
                secrets: secrets, signingKeys: seeds.map { Redacted($0) })
            return Dictionary(headers) { first, _ in first }["webhook-signature"] ?? ""
        }
        let expected =
            "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
        #expect(Ed25519Key(seed: seed)?.publicKey == publicKey)
        #expect(WebhookPublicKey.text(publicKey) == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        #expect(signature([secret], [seed]) == "\(vector.signature) \(expected)")
        let both = signature([secret, .generate()], [other, seed]).split(
            separator: " ", omittingEmptySubsequences: false)
        #expect(both.count == 4 && both.first.map(String.init) == vector.signature)
        #expect(both[2] == signature([], [other]) && both[3] == expected)
    }

    @Test func `RevenueCat's header signs the time and the body with the secret's text`() throws {
        // echo -n '1614265330.{"test": 2432232314}' | openssl dgst -sha256 -hmac whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
        let headers = try headers(WebhookSignatureTests.vectors[0], [WebhookSignatureTests.vectors[0].secret])
        #expect(
            headers["x-revenuecat-webhook-signature"]
                == "t=1614265330,v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964")
    }

    @Test func `a secret from before goes on with its bytes in both headers`() throws {
        let vector = WebhookSignatureTests.vectors[0]
        let former = WebhookSecret(plaintext: try #require(Base64.decode(Array(vector.secret.utf8))))
        let headers = Dictionary(
            WebhookSignature.headers(
                id: vector.id, timestamp: vector.timestamp, body: Array(vector.body.utf8), secrets: [former])
        ) { first, _ in first }
        #expect(headers["webhook-signature"] == vector.signature)
        // echo -n '1614265330.{"test": 2432232314}' | openssl dgst -sha256 -mac hmac -macopt hexkey:31f290…
        #expect(
            headers["x-revenuecat-webhook-signature"]
                == "t=1614265330,v1=e96203c6de850e7dc1fde7489ef6140b402d3a5a64fe250cd2eef9830fac1cef")
        #expect(former.text == "whsec_\(vector.secret)")
    }

    @Test func `a secret is stored as it signs`() throws {
        let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let secret = try #require(WebhookSecret(text))
        #expect(secret.text == text && WebhookSecret(plaintext: secret.plaintext) == secret)
        let made = WebhookSecret.generate()
        #expect(WebhookSecret(made.text) == made && WebhookSecret(plaintext: made.plaintext) == made)
        let former = WebhookSecret(plaintext: secret.bytes.exposed)
        #expect(former != secret && WebhookSecret(plaintext: former.plaintext) == former)
        #expect(!"\(secret)".contains("MfKQ") && !String(reflecting: secret).contains("49, 242"))
    }

    @Test(arguments: [
        "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_plJ3nmyCDGBKInavdOK15jsl",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZI",
        "whsec_" + String(repeating: "A", count: 88), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAA",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
    ])
    func `what is no secret is refused`(text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    @Test func `a request carries the event's id, the attempt's number and what the endpoint wants`() throws {
        let delivery = DueDelivery(
            id: DeliveryID(lane: Lane(number: 1), event: [UInt8](0..<16), endpoint: "we_1"), endpoint: "we_1",
            event: [UInt8](0..<16), eventType: "RENEWAL", attempts: 2, roundStart: 0, body: Array("{}".utf8))
        let endpoint = Endpoint(
            id: "we_1", url: "https://example.com/x?y=1", authorization: Redacted("Bearer z"),
            headers: [try CustomHeader(parsing: "X-Tenant: demo")], created: 1,
            secrets: [.generate()])
        let request = WebhookRequest.make(delivery, endpoint: endpoint, timestamp: 5, timeout: .seconds(7))
        let headers = Dictionary(request.headers) { first, _ in first }
        #expect(request.url == endpoint.url && request.method == "POST" && request.body == delivery.body)
        #expect(request.timeout == .seconds(7))
        #expect(headers["webhook-id"] == "00010203-0405-0607-0809-0A0B0C0D0E0F")
        #expect(headers["entitled-attempt"] == "3")
        #expect(headers["content-type"] == "application/json")
        #expect(headers["authorization"] == "Bearer z")
        #expect(headers["X-Tenant"] == "demo")
        #expect(headers["webhook-timestamp"] == "5")
    }
}
