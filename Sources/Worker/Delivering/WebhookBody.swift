import Base
import Crypto
import Database

/// The bytes that a consumer gets.
enum WebhookBody {
    /// The event as it is stored, with what the endpoint gets besides.
    ///
    /// - Parameter timestamp: seconds since 1970 of this attempt.
    static func bytes(of delivery: DueDelivery, for endpoint: Endpoint, timestamp: Int64) -> [UInt8] {
        if let version = endpoint.extensionVersion, let secret = endpoint.secrets.first {
            return FirebaseToken.body(of: delivery, version: version, secret: secret, timestamp: timestamp)
        }
        guard endpoint.includesSubscriber, let customers = delivery.customers, delivery.body.last == UInt8(ascii: "}")
        else { return delivery.body }
        var members: [JSON.Member] = [member("customer_info", customers.customer)]
        if customers.isTransfer { members.append(member("origin_customer_info", customers.origin)) }
        // Behind the members of the event, which stay byte for byte as they are.
        return delivery.body.dropLast() + [UInt8(ascii: ",")] + JSON.object(members).bytes.dropFirst()
    }

    private static func member(_ name: String, _ document: [UInt8]?) -> JSON.Member {
        JSON.Member(name: name, value: document.map { .raw($0) } ?? .null)
    }
}

/// An event as RevenueCat's Firebase extension takes it (RevenueCat/firestore-revenuecat-purchases, functions/src): a JSON
/// Web Token, signed with the shared secret (HS256, RFC 7518 §3.2), whose claim `payload` is the text of
/// `{api_version, event, customer_info}`; `api_version` has to be the extension's own version.
enum FirebaseToken {
    /// Seconds for which a token holds.
    private static let lifetime: Int64 = 3600

    static func body(
        of delivery: DueDelivery, version: String, secret: WebhookSecret, timestamp: Int64
    ) -> [UInt8] {
        let header = JSON.object(["typ": .string("JWT"), "alg": .string("HS256")])
        let claims = JSON.object([
            "iss": .string("entitled"), "jti": .string(delivery.webhookID), "iat": .int(timestamp),
            "exp": .int(timestamp + lifetime), "payload": .string(payload(of: delivery, version).text),
        ])
        let signed = Base64.encodeURL(header.bytes) + "." + Base64.encodeURL(claims.bytes)
        let signature = Digest.hmacSHA256(key: Array(secret.text.utf8), Array(signed.utf8))
        return JSON.object(["token": .string(signed + "." + Base64.encodeURL(signature))]).bytes
    }

    private static func payload(of delivery: DueDelivery, _ version: String) -> JSON {
        let event = (try? JSON(parsing: delivery.body))?["event"] ?? .object([])
        let customer = delivery.customers?.customer.map { JSON.raw($0) } ?? .object([])
        let origin = delivery.customers?.origin.map { JSON.raw($0) } ?? .object([])
        let isTransfer = delivery.customers?.isTransfer ?? false
        return .object([
            "api_version": .string(version), "event": .object(members(of: event)), "customer_info": customer,
            "origin_customer_info": isTransfer ? origin : nil,
        ])
    }

    /// Firestore takes no member that is undefined: the extension reads these of every event.
    private static func members(of event: JSON) -> [JSON.Member] {
        func texts(_ name: String) -> [String]? { event[name]?.arrayValue?.compactMap(\.stringValue) }
        var members = event.members ?? []
        func add(_ name: String, _ value: JSON?) {
            guard let value, event[name] == nil else { return }
            members.append(JSON.Member(name: name, value: value))
        }
        let new = texts("transferred_to").flatMap(known)
        add("app_user_id", new.map { .string($0) })
        add("origin_app_user_id", texts("transferred_from").flatMap(known).map { .string($0) })
        add("aliases", .strings(texts("transferred_to") ?? [event["app_user_id"]?.stringValue].compactMap(\.self)))
        return members
    }

    /// The id that an app gave a customer, else an anonymous one.
    private static func known(_ ids: [String]) -> String? {
        ids.first { !$0.hasPrefix("$RCAnonymousID:") } ?? ids.first
    }
}
