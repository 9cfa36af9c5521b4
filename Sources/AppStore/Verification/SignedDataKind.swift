/// What a JWS of Apple's holds.
package enum SignedDataKind: String, Sendable, CaseIterable {
    case notification
    case transaction
    case renewal
    case appTransaction = "app-transaction"

    /// Whether it is a request of Apple's Retention Messaging API (`DecodedRealtimeRequestBody`), which has the members of a
    /// renewal info and others: nothing here answers it.
    package static func isRealtimeRequest(_ payload: [UInt8]) -> Bool { Marks(payload: payload)?.isRealtime ?? false }

    /// The kind of a payload by the members that only this kind has; nil if it looks like none.
    package static func detect(_ payload: [UInt8]) -> SignedDataKind? {
        Marks(payload: payload)?.kind
    }

    private struct Marks: WirePayload {
        let kind: SignedDataKind?
        let isRealtime: Bool

        init(_ members: Members) {
            let names = Set(members.names)
            isRealtime = names.contains("requestIdentifier") && names.contains("userLocale")
            if names.contains("notificationType") || names.contains("notificationUUID") {
                kind = .notification
            } else if names.contains("receiptType") || names.contains("receiptCreationDate") {
                kind = .appTransaction
            } else if !names.isDisjoint(with: ["autoRenewStatus", "autoRenewProductId", "renewalDate"]) {
                kind = .renewal
            } else if !names.isDisjoint(with: ["transactionId", "purchaseDate", "bundleId"]) {
                kind = .transaction
            } else {
                kind = names.contains("originalTransactionId") && !isRealtime ? .renewal : nil
            }
        }
    }
}
