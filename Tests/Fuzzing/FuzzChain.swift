import AppStore
import Base
import Crypto

/// A chain like Apple's, and what it signs.
package struct FuzzChain: Sendable {
    /// 2025-01-01, milliseconds: when everything was signed.
    package static let date: Int64 = 1_735_689_600_000

    package let certificates: [[UInt8]]
    private let key: SigningKey

    package init() throws {
        certificates = FuzzCertificates.all
        key = try SigningKey(der: FuzzCertificates.key)
    }

    package var trust: TrustAnchors { TrustAnchors(fingerprints: [Digest.sha256(certificates[2])]) }

    package var header: [UInt8] {
        JSON.object(["alg": .string("ES256"), "x5c": .strings(certificates.map { Base64.encode($0) })]).bytes
    }

    /// Nothing that verifies, if OpenSSL could not sign.
    package func sign(_ payload: [UInt8], header: [UInt8]? = nil) -> [UInt8] {
        let signed = Array((Base64.encodeURL(header ?? self.header) + "." + Base64.encodeURL(payload)).utf8)
        let signature = (try? key.signES256(signed)) ?? []
        return signed + [UInt8(ascii: ".")] + Array(Base64.encodeURL(signature).utf8)
    }

    // MARK: - Payloads

    package static let transaction = Array(
        #"""
        {"transactionId":"2000000123456789","originalTransactionId":"2000000123456780","bundleId":"com.example.app",\#
        "productId":"pro","purchaseDate":1735689600000,"expiresDate":1738368000000,"quantity":1,\#
        "type":"Auto-Renewable Subscription","appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138",\#
        "signedDate":1735689600000,"environment":"Sandbox","price":9990,"currency":"USD","isUpgraded":false}
        """#.utf8)
    package static let renewal = Array(
        #"""
        {"originalTransactionId":"2000000123456780","autoRenewProductId":"pro","autoRenewStatus":1,\#
        "eligibleWinBackOfferIds":["a","b"],"signedDate":1735689600000.5,"environment":"Sandbox"}
        """#.utf8)
    package static let appTransaction = Array(
        #"{"receiptType":"Sandbox","bundleId":"com.example.app","receiptCreationDate":1735689600000}"#.utf8)

    /// A notification with a transaction and a renewal info inside.
    package func notification() -> [UInt8] {
        let (inner, renewal) = (sign(FuzzChain.transaction), sign(FuzzChain.renewal))
        return Array(
            #"{"notificationType":"DID_RENEW","notificationUUID":"5f5c8b2e-0000-4000-8000-000000000001","data":{"#.utf8)
            + Array(#""bundleId":"com.example.app","environment":"Sandbox","status":1,"signedTransactionInfo":""#.utf8)
            + inner + Array(#"","signedRenewalInfo":""#.utf8) + renewal
            + Array(#""},"version":"2.0","signedDate":1735689600000}"#.utf8)
    }

    /// A payload without the signatures inside it, which are others each time.
    package static func unsigned(_ payload: [UInt8]) -> [[UInt8]] {
        payload.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false).map { text in
            let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            return Array(parts.count == 3 ? text.dropLast(parts[2].count) : text)
        }
    }

    package static let plainNotifications: [[UInt8]] = [
        #"{"notificationType":"TEST","notificationUUID":"u","data":{"bundleId":"com.example.app","appAppleId":1,"environment":"Sandbox"},"signedDate":1735689600000}"#,
        #"{"notificationType":"RENEWAL_EXTENSION","subtype":"SUMMARY","notificationUUID":"u","summary":{"bundleId":"com.example.app","environment":"Production","storefrontCountryCodes":["USA"],"succeededCount":5},"signedDate":1735689600000}"#,
        #"{"notificationType":"EXTERNAL_PURCHASE_TOKEN","notificationUUID":"u","externalPurchaseToken":{"externalPurchaseId":"SANDBOX_1","bundleId":"com.example.app"},"signedDate":1735689600000}"#,
    ].map { Array($0.utf8) }
}
