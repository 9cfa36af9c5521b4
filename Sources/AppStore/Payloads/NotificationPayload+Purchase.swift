import Base

extension NotificationPayload {
    /// The purchase that the notification is about, as the data inside says it; nil if it is about none.
    ///
    /// Good for finding a place for it, and for nothing else: the data inside is signed by itself, and whoever believes
    /// it verifies that first (`SignedDataInspector`).
    package var statedOriginalTransactionId: String? {
        let transaction: TransactionReference? = NotificationPayload.payload(of: data?.signedTransactionInfo)
        if let id = transaction?.originalTransactionId { return id }
        let renewal: TransactionReference? = NotificationPayload.payload(of: data?.signedRenewalInfo)
        return renewal?.originalTransactionId
    }

    private static func payload<Payload: WirePayload>(of jws: String?) -> Payload? {
        let parts = jws?.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let bytes = Base64.decodeURL(parts[1]) else { return nil }
        return Payload(payload: bytes)
    }
}

/// What transactions and renewal infos have in common.
private struct TransactionReference: WirePayload {
    let originalTransactionId: String?

    init(_ members: Members) {
        originalTransactionId = members.text("originalTransactionId")
    }
}
