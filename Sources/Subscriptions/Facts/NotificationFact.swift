/// The envelope of one notification about a purchase (Apple: responseBodyV2DecodedPayload).
package struct NotificationFact: Sendable, Hashable {
    package var uuid: String
    /// `notificationType`, also an unknown one.
    package var type: String
    package var subtype: String?
    /// `data.status` as of `signedDate`: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
    package var status: Int?
    /// Of the transaction that it is about, where it says something of that one alone.
    package var transactionID: String?
    /// `data.consumptionRequestReason` of a CONSUMPTION_REQUEST, also an unknown one.
    package var consumptionRequestReason: String?
    /// Milliseconds since 1970.
    package var signedDate: Int64
    /// The signed bytes.
    package var tie: [UInt8]

    package init(
        uuid: String, type: String, subtype: String? = nil, status: Int? = nil, transactionID: String? = nil,
        consumptionRequestReason: String? = nil, signedDate: Int64, tie: [UInt8] = []
    ) {
        self.uuid = uuid
        self.type = type
        self.subtype = subtype
        self.status = status
        self.transactionID = transactionID
        self.consumptionRequestReason = consumptionRequestReason
        self.signedDate = signedDate
        self.tie = tie
    }
}

extension NotificationFact {
    /// Apple's word that access has ended; it confirms dates and never replaces them.
    var tellsEnd: Bool {
        type == "EXPIRED" || type == "GRACE_PERIOD_EXPIRED" || status == 2 || status == 3
    }

    /// The types that say something of one transaction: refunds, what is asked before them, shares that end.
    package static let typesAboutTransactions: Set<String> = [
        "CONSUMPTION_REQUEST", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE",
    ]

    var tellsGrace: Bool {
        status == 4 || (type == "DID_FAIL_TO_RENEW" && subtype == "GRACE_PERIOD")
    }
}
