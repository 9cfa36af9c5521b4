import API
import AppStore
import Base
import Crypto
import FoundationEssentials
import TestSupport
import Testing

/// Signatures of promotional offers, as `openssl` and Apple's description judge them.
struct PromotionalOfferTests {
    private static let now: Int64 = 1_790_000_000_123
    private let key: SigningKey
    private let api: KeyedAPI

    init() throws {
        key = try SigningKey.generate(.p256)
        let signing = PromotionalOfferSignature.Key(id: "KEY1", key: key)
        api = try KeyedAPI(clock: ManualClock(PromotionalOfferTests.now)) {
            $0.offerApps = KeyedAPI.offerApps(key: signing)
        }
    }

    private func ask(
        _ user: String, _ offers: [(String, String)] = [("week_free", "monthly")], key: String = KeyedAPI.appKey,
        headers: [String: String] = [:]
    ) -> HTTPCall {
        let body = JSON.object([
            "app_user_id": .string(user), "fetch_token": .string("YW4gYXdlc29tZSBkaXNjb3VudA=="),
            "generate_offers": .array(
                offers.map {
                    .object([
                        "offer_id": .string($0), "product_id": .string($1), "subscription_group": .string("sub_group"),
                    ])
                }),
        ])
        return api.call("POST", "/v1/offers", body, key: key, headers: headers)
    }

    /// Whether the public key finds the signature right, by a program that is not ours.
    private func isRight(_ offer: JSON, account: String) throws -> Bool {
        let data = try #require(offer["signature_data"])
        let nonce = try #require(data["nonce"]?.stringValue)
        let time = try #require(data["timestamp"]?.intValue)
        let signature = try #require(data["signature"]?.stringValue.flatMap { Base64.decode($0.utf8) })
        let fields = ["com.example.app", "KEY1", "monthly", "week_free", account, nonce, String(time)]
        return try TemporaryFolder.with { folder in
            func write(_ name: String, _ bytes: [UInt8]) throws -> String {
                let path = "\(folder)/\(name)"
                try Data(bytes).write(to: URL(filePath: path))
                return path
            }
            let pem =
                "-----BEGIN PUBLIC KEY-----\n\(Base64.encode(key.publicKey()))\n-----END PUBLIC KEY-----\n"
            let message = try write("message", Array(fields.joined(separator: "\u{2063}").utf8))
            let output = try? TestCommand.run([
                "/usr/bin/openssl", "dgst", "-sha256", "-verify", try write("key.pem", Array(pem.utf8)), "-signature",
                try write("signature", signature), message,
            ])
            return output?.contains("Verified OK") == true
        }
    }

    @Test func `an offer is signed over what Apple says, and openssl agrees`() throws {
        let answer = ask("somebody", headers: ["X-StoreKit-Version": "2"])
        #expect(answer.status == 200)
        let offer = try #require(answer.json["offers"]?.arrayValue?.first)
        #expect(offer["key_id"] == .string("KEY1") && offer["signature_error"] == .null)
        #expect(offer["signature_data"]?["timestamp"] == .int(PromotionalOfferTests.now))
        let nonce = try #require(offer["signature_data"]?["nonce"]?.stringValue)
        #expect(nonce.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(try isRight(offer, account: ""))
        #expect(try !isRight(offer, account: "somebody"))
        let again = try #require(ask("somebody").json["offers"]?.arrayValue?.first)
        #expect(again["signature_data"]?["nonce"] != offer["signature_data"]?["nonce"])
    }

    @Test(arguments: [
        ("2", "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE", "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"),
        ("2", "$RCAnonymousID:00000000000000000000000000000001", ""),
        ("1", "Somebody", "Somebody"),
        ("1", "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE", "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE"),
    ])
    func `the account is what the SDK gives StoreKit beside the offer`(storeKit: String, user: String, account: String)
        throws
    {
        let answer = ask(user, headers: ["X-StoreKit-Version": storeKit])
        #expect(try isRight(try #require(answer.json["offers"]?.arrayValue?.first), account: account))
    }

    @Test func `the answer has the keys of RevenueCat's`() throws {
        let offer = try #require(ask("a").json["offers"]?.arrayValue?.first)
        #expect(
            offer.members?.map(\.name) == ["key_id", "offer_id", "product_id", "signature_data", "signature_error"])
        #expect(offer["signature_data"]?.members?.map(\.name) == ["nonce", "signature", "timestamp"])
    }

    @Test func `an app without a key is told so in each offer`() throws {
        let answer = ask(
            "a", [("o", "p"), ("q", "r")], key: KeyedAPI.publicKey,
            headers: ["X-Client-Bundle-ID": "com.example.other"])
        #expect(answer.status == 200)
        let offers = answer.json["offers"]?.arrayValue ?? []
        #expect(offers.count == 2)
        for offer in offers {
            #expect(offer["signature_data"] == .null && offer["signature_error"]?["code"] == .int(7234))
        }
        // With a key of every app it has to be clear which one is meant.
        #expect(ask("a", key: KeyedAPI.publicKey).json["offers"]?.arrayValue?.first?["signature_data"] == .null)
        let named = ask("a", key: KeyedAPI.publicKey, headers: ["X-Client-Bundle-ID": "com.example.app"])
        #expect(named.json["offers"]?.arrayValue?.first?["key_id"] == .string("KEY1"))
    }

    @Test(arguments: [
        "{}", "{\"app_user_id\":\"a\"}", "{\"app_user_id\":\"a\",\"generate_offers\":[]}",
        "{\"app_user_id\":\"a\",\"generate_offers\":[{}]}", "{\"app_user_id\":\"a\",\"generate_offers\":[1]}",
    ])
    func `a question without offers is refused`(body: String) {
        let answer = api.call("POST", "/v1/offers", .raw(Array(body.utf8)))
        #expect(answer.status == 400 && answer.json["code"] == .int(7226))
    }
}
