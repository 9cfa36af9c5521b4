import Base

extension NotificationPayload {
    /// The purchase that the notification is about, as the data inside says it; nil if it is about none.
    ///
    /// Good for finding a place for it, and for nothing else: the data inside is signed by itself, and a reader that believes
    /// it verifies that first (`SignedDataInspector`).
    package var statedOriginalTransactionId: String? {
        let transaction: TransactionReference? = NotificationPayload.payload(of: data?.signedTransactionInfo)
        if let id = transaction?.originalTransactionId { return id }
        let renewal: TransactionReference? = NotificationPayload.payload(of: data?.signedRenewalInfo)
        return renewal?.originalTransactionId
    }

    private static func payload<Payload: WirePayload>(of jws: String?) -> Payload? {
        let bytes = Array((jws ?? "").utf8)
        let dot = UInt8(ascii: ".")
        // From the end, because the signature is short and the header is not.
        guard let last = bytes.lastIndex(of: dot), let first = bytes[..<last].lastIndex(of: dot),
            !bytes[..<first].contains(dot), let payload = Base64.decodeURL(bytes[(first + 1)..<last])
        else { return nil }
        return Payload(payload: payload)
    }
}

/// What transactions and renewal infos have in common.
private struct TransactionReference: WirePayload {
    let originalTransactionId: String?

    init(_ members: Members) {
        originalTransactionId = members.text("originalTransactionId")
    }
}
