import Base
import Subscriptions
import TestSupport
import Testing

struct AttributeRouteTests {
    private func write(_ attributes: JSON, of id: String = "al", _ scene: IdentityFixture) -> HTTPCall {
        scene.post("/v1/subscribers/\(id)/attributes", ["attributes": attributes])
    }

    private func value(_ text: JSON, at time: Int64) -> JSON {
        .object(["value": text, "updated_at_ms": .int(time)])
    }

    @Test func `attributes are saved for who was not known yet, and only a secret key reads them`() throws {
        let scene = try IdentityFixture()
        let answer = write(.object(["k": value(.string("v"), at: 1_678_307_200_000)]), scene)
        #expect(answer.status == 200)
        #expect(answer.json["subscriber"]?["original_app_user_id"] == .string("al"))
        #expect(answer.json["subscriber"]?["subscriber_attributes"] == nil)
        #expect(
            scene.subscriber("al")["subscriber_attributes"]?.text
                == #"{"k":{"updated_at_ms":1678307200000,"value":"v"}}"#)
        #expect(scene.subscriber("al", key: KeyedAPI.publicKey)["subscriber_attributes"] == nil)
        // An older write changes nothing, a newer one deletes, and then an older one brings nothing back.
        #expect(write(.object(["k": value(.string("older"), at: 5)]), scene).status == 200)
        #expect(write(.object(["k": value(.null, at: 1_678_307_200_001)]), scene).status == 200)
        #expect(write(.object(["k": value(.string("older"), at: 1_678_307_200_000)]), scene).status == 200)
        #expect(scene.subscriber("al")["subscriber_attributes"] == .object([]))
    }

    @Test func `what is wrong is named with its code, and the rest is saved`() throws {
        let scene = try IdentityFixture()
        let answer = write(
            .object([
                "good": value(.string("v"), at: 5), "$email": value(.string("nobody"), at: 5),
                "a key": value(.string("v"), at: 5), "long": value(.string(String(repeating: "x", count: 501)), at: 5),
            ]), scene)
        #expect(answer.status == 400)
        #expect(
            answer.text == """
                {"attribute_errors":[{"key_name":"$email","message":"Value is not a valid email address."},\
                {"key_name":"a key","message":"Key name format is not valid."},\
                {"key_name":"long","message":"Value is too long."}],"code":7263,\
                "message":"Some customer attribute keys were unable to be saved."}

                """)
        #expect(scene.subscriber("al")["subscriber_attributes"]?.members?.map(\.name) == ["good"])
        for whole in [JSON.null, .string("x"), .array([])] {
            let refused = write(whole, scene)
            #expect(refused.status == 400)
            #expect(refused.json["code"] == .int(7264))
        }
        #expect(write(.object([]), of: "null", scene).json["code"] == .int(7256))
    }

    @Test func `whoever become one have the attributes of both, the newer of each key`() throws {
        let scene = try IdentityFixture()
        let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        let path = "$RCAnonymousID%3A0123456789abcdef0123456789abcdef"
        _ = write(
            .object([
                "a": value(.string("1"), at: 5), "b": value(.string("1"), at: 5), "$ip": value(.string("1"), at: 5),
            ]), of: path, scene)
        _ = write(
            .object([
                "b": value(.string("2"), at: 6), "c": value(.string("2"), at: 6), "$ip": value(.string("2"), at: 6),
            ]), of: "bob", scene)
        _ = scene.post(
            "/v1/subscribers/identify", ["app_user_id": .string(anonymous), "new_app_user_id": .string("bob")])
        for id in [path, "bob"] {
            let members = scene.subscriber(id)["subscriber_attributes"]?.members ?? []
            let values = members.map { "\($0.name)=\($0.value["value"]?.stringValue ?? "")" }
            #expect(values == ["$ip=1", "a=1", "b=2", "c=2"])
        }
        // Deleted under one id it is deleted, whatever the other said before.
        _ = write(.object(["a": value(.null, at: 7)]), of: "bob", scene)
        #expect(scene.subscriber(path)["subscriber_attributes"]?["a"] == nil)
    }

    @Test func `what old SDKs send of networks becomes attributes`() throws {
        let scene = try IdentityFixture()
        let answer = scene.post(
            "/v1/subscribers/al/attribution",
            ["data": .object(["rc_idfa": .string("I"), "campaign": .string("c"), "x": .int(1)]), "network": .int(1)])
        #expect(answer.status == 200)
        #expect(answer.text == "{}\n")
        #expect(scene.subscriber("al")["subscriber_attributes"]?.members?.map(\.name) == ["$campaign", "$idfa"])
        let token = scene.post(
            "/v1/subscribers/al/adservices_attribution", ["aad_attribution_token": .string("token")])
        #expect(token.status == 200)
        #expect(token.text == "{}\n")
    }
}
