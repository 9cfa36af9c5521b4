import AppStore
import Base
import Queue
import Records
import Subscriptions

/// A pending notification, decoded and verified as far as applying it needs.
struct PreparedNotification: Sendable {
    enum Content: Sendable {
        /// Facts about a purchase; `notification` says why we hear of them.
        case facts(PurchaseKey, [FactRow], NotificationFact)
        /// It is about no purchase (TEST, a summary, a token): nothing changes.
        case nothing
        /// It must not become a record; a person has to look.
        case held(String)
    }

    let pending: PendingNotification
    let content: Content
}

/// Decodes pending notifications and verifies what is signed inside them. Touches no database.
struct NotificationPreparer: Sendable {
    private let inspector: SignedDataInspector
    private let dictionaries: HeaderDictionaries

    init(verifier: SignedDataVerifier, dictionaries: HeaderDictionaries) {
        inspector = SignedDataInspector(verifier: verifier)
        self.dictionaries = dictionaries
    }

    func prepare(_ pending: PendingNotification) -> PreparedNotification {
        PreparedNotification(pending: pending, content: content(of: pending))
    }

    private func content(of pending: PendingNotification) -> PreparedNotification.Content {
        if let gap = pending.gap { return .held(gap) }
        let bytes: [UInt8]
        do {
            bytes = try dictionaries.restore(pending.stored, header: pending.header)
        } catch {
            return .held("the stored payload cannot be restored: \(error)")
        }
        guard let payload = NotificationPayload(payload: bytes) else {
            return .held("the stored payload is no notification")
        }
        switch inspector.nestedData(of: payload) {
        case .failure(let failure):
            return .held("\(failure.reason.rawValue): \(failure.detail)")
        case .success(let nested):
            return facts(payload, nested, pending)
        }
    }

    private func facts(
        _ payload: NotificationPayload, _ nested: NestedData, _ pending: PendingNotification
    ) -> PreparedNotification.Content {
        let transactionID = nested.transaction?.payload.originalTransactionId
        let renewalID = nested.renewal?.payload.originalTransactionId
        guard nested.transaction != nil || nested.renewal != nil else { return .nothing }
        guard let originalID = transactionID ?? renewalID else {
            return .held("what Apple signed has no originalTransactionId")
        }
        if let renewalID, renewalID != originalID {
            return .held("the renewal info is about another purchase than the transaction")
        }
        let identity = pending.identity
        let key = PurchaseKey(
            app: identity.app, environment: identity.environment, originalTransactionID: originalID)
        guard key.lane == pending.lane else {
            return .held("the purchase belongs to another lane than the notification")
        }
        var rows: [FactRow] = []
        if let part = nested.transaction {
            guard let fact = TransactionFact(part.payload, tie: part.jws.payload) else {
                return .held("the transaction lacks its id, product or purchase date")
            }
            rows.append(row(.transaction, part.jws, fact.signedDate))
        }
        if let part = nested.renewal, let fact = RenewalFact(part.payload, tie: part.jws.payload) {
            rows.append(row(.renewal, part.jws, fact.signedDate))
        }
        let signedDate = payload.signedDate ?? rows.first?.signedDate ?? 0
        let fact = NotificationFact(
            uuid: payload.notificationUUID, type: payload.notificationType.rawValue,
            subtype: payload.subtype?.rawValue, status: payload.data?.status.map { Int(clamping: $0) },
            signedDate: signedDate)
        rows.append(
            FactRow(kind: .notification, signedDate: signedDate, header: nil, signature: nil, payload: fact.payload))
        return .facts(key, rows, fact)
    }

    private func row(_ kind: FactRow.Kind, _ jws: VerifiedJWS, _ signedDate: Int64) -> FactRow {
        FactRow(
            kind: kind, signedDate: signedDate, header: jws.header, signature: jws.signature, payload: jws.payload)
    }
}
