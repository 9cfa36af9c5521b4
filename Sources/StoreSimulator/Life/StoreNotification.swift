import Base

/// One App Store Server Notification V2 before it is signed (responseBodyV2DecodedPayload).
package struct StoreNotification: Sendable, Equatable {
    /// The member that says what it is about; what Apple signs apart is kept apart.
    package enum Content: Sendable, Equatable {
        /// `data`: these members, then the transaction and the renewal info, each signed by itself, and the status.
        case data([JSON.Member], transaction: JSON?, renewal: JSON?, status: Int64?)
        case summary(JSON)
        case externalPurchaseToken(JSON)
        /// `appData`: these members, then the app transaction, signed by itself.
        case appData([JSON.Member], appTransaction: JSON)
    }

    package var type: String
    package var subtype: String?
    /// Apple's id of it, by which a receiver knows a repetition.
    package var uuid: String
    /// Milliseconds since 1970.
    package var signedDate: Int64
    package var content: Content
    /// Members that no document names.
    package var unknownMembers: [JSON.Member] = []

    /// `DID_RENEW.BILLING_RECOVERY`, or the type alone.
    package var name: String { subtype.map { "\(type).\($0)" } ?? type }

    /// The transaction's payload, of those that have one.
    package var transaction: JSON? {
        if case .data(_, let transaction, _, _) = content { transaction } else { nil }
    }

    package var renewal: JSON? {
        if case .data(_, _, let renewal, _) = content { renewal } else { nil }
    }

    /// The whole payload; `sign` makes a compact JWS of what is signed apart.
    package func payload(signing sign: (JSON) throws -> String) rethrows -> JSON {
        var members = PayloadMembers()
        members.text("notificationType", type)
        members.text("subtype", subtype)
        members.text("notificationUUID", uuid)
        switch content {
        case .data(let fields, let transaction, let renewal, let status):
            var data = PayloadMembers()
            data.append(fields)
            data.text("signedTransactionInfo", try transaction.map(sign))
            data.text("signedRenewalInfo", try renewal.map(sign))
            data.integer("status", status)
            members.add("data", data.json)
        case .summary(let summary): members.add("summary", summary)
        case .externalPurchaseToken(let token): members.add("externalPurchaseToken", token)
        case .appData(let fields, let appTransaction):
            var data = PayloadMembers()
            data.append(fields)
            data.text("signedAppTransactionInfo", try sign(appTransaction))
            members.add("appData", data.json)
        }
        members.append(unknownMembers)
        members.text("version", "2.0")
        members.integer("signedDate", signedDate)
        return members.json
    }
}
