import Base
import Crypto
import Synchronization

/// Compression of payloads: taken apart (`PackedPayload`), then zstd with a dictionary of the JWS header, which a part
/// under another header repeats in places, and of what all payloads have in common. Few headers exist at a time, so
/// their dictionaries are kept.
package final class HeaderDictionaries: Sendable {
    private let known = Mutex<[[UInt8]: ZstdDictionary]>([:])
    private static let limit = 64

    /// Part of the format: payloads compressed with it always need it.
    private static let common = Array(
        """
        {"originalTransactionId":"2000000","autoRenewProductId":"pro_monthly","productId":"pro_monthly",\
        "autoRenewStatus":1,"isInBillingRetryPeriod":false,"expirationIntent":1,"gracePeriodExpiresDate":179,\
        "priceIncreaseStatus":0,"renewalPrice":9990,"currency":"USD","signedDate":179,"environment":"Sandbox",\
        "recentSubscriptionStartDate":179,"renewalDate":179,"appTransactionId":"704","appAccountToken":"",\
        "offerType":1,"offerIdentifier":"","offerDiscountType":"FREE_TRIAL","offerPeriod":"P1M"}\
        {"transactionId":"2000000","originalTransactionId":"2000000","webOrderLineItemId":"2000000","bundleId":"com.",\
        "productId":"pro_monthly","subscriptionGroupIdentifier":"20","purchaseDate":179,"originalPurchaseDate":179,\
        "expiresDate":179,"quantity":1,"type":"Auto-Renewable Subscription","type":"Non-Consumable",\
        "type":"Consumable","type":"Non-Renewing Subscription","appAccountToken":"","inAppOwnershipType":"PURCHASED",\
        "signedDate":179,"revocationReason":0,"revocationDate":179,"revocationType":"REFUND_FULL",\
        "revocationPercentage":100000,"isUpgraded":true,"offerType":1,"offerDiscountType":"FREE_TRIAL",\
        "offerPeriod":"P1W","environment":"Production","environment":"Sandbox","transactionReason":"PURCHASE",\
        "transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441","price":9990,"currency":"USD",\
        "appTransactionId":"704"}\
        {"notificationType":"DID_CHANGE_RENEWAL_STATUS","subtype":"AUTO_RENEW_DISABLED",\
        "notificationType":"EXPIRED","subtype":"VOLUNTARY","notificationType":"DID_FAIL_TO_RENEW",\
        "subtype":"BILLING_RETRY","notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY",\
        "notificationType":"DID_RENEW","notificationUUID":"","data":{"appAppleId":1,"bundleId":"com.",\
        "bundleVersion":"1","environment":"Sandbox","signedTransactionInfo":"","signedRenewalInfo":"","status":1},\
        "version":"2.0","signedDate":179}
        """.utf8)

    /// Entropy tables that `ZDICT_finalizeDictionary` of zstd 1.5.4 made from 20,000 notifications of `storesim`'s subscribers, at level 3.
    /// Part of the format, like the dictionary.
    private static let tables = """
        N6Qw7AEAAAAlENiTDgweDMMwHDmqCCMi7L33HzMjTqsmCFJKKaWU6SFIJWPCAiMBAAAGj8UjNXLmAAAEoIHCAgNICAYJx0cFhA\
        clgSAYIgeKA2EoHkCUEMSAAPBMCagEAAAAJLRmyBiMMgAMsR0AAAAAADwAAAAAAQAAAAQAAAAIAAAA
        """

    package init() {}

    package func compress(_ payload: [UInt8], header: [UInt8], id: [UInt8]) throws -> [UInt8] {
        try Zstd.compress(PackedPayload.pack(payload, header: header), dictionary: try dictionary(header, id))
    }

    /// The decoded payload of a stored JWS.
    ///
    /// - Throws: when the bytes are not what was stored.
    package func restore(_ stored: StoredJWS, header: [UInt8]) throws -> [UInt8] {
        let packed = try Zstd.decompress(
            stored.payload, dictionary: try dictionary(header, stored.headerID), limit: StoredJWS.payloadLimit)
        return try PackedPayload.unpack(packed, header: header, limit: StoredJWS.payloadLimit)
    }

    func dictionary(_ header: [UInt8], _ id: [UInt8]) throws -> ZstdDictionary {
        if let dictionary = known.withLock({ $0[id] }) { return dictionary }
        let dictionary = try ZstdDictionary(header + HeaderDictionaries.common, tables: HeaderDictionaries.tables)
        known.withLock { known in
            if known.count >= HeaderDictionaries.limit { known.removeAll() }
            known[id] = dictionary
        }
        return dictionary
    }
}
