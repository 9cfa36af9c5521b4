import AppStore
import Subscriptions

extension TransactionPayload {
    /// Why it gives no access, as the end of a sentence that begins with "the transaction"; nil if it is sound.
    ///
    /// Members that are missing or of another type would give access without end otherwise: an unreadable end would be no end,
    /// and an unreadable revocation date no revocation. Texts that no row keeps would make a whole transaction fail, with what
    /// else is in it.
    package var flaw: String? {
        if !unreadable.isEmpty {
            return "has members of another type than Apple documents: \(unreadable.joined(separator: ", "))"
        }
        guard let fact = TransactionFact(self, tie: []) else { return "lacks its id, product or purchase date" }
        if let flaw = StorableText.flaw(of: texts) { return flaw }
        guard fact.lacksEnd else { return nil }
        switch type {
        case nil: return "lacks its type and its expiresDate"
        case TransactionFact.autoRenewable?: return "renews by itself and lacks its expiresDate"
        case let type?:
            return "is of a type that this version does not know (\(type.prefix(64))) and lacks its expiresDate:"
                + " upgrade entitled, and it is tried again"
        }
    }

    /// The members that become columns.
    private var texts: [(member: String, text: String?)] {
        [
            ("transactionId", transactionId), ("originalTransactionId", originalTransactionId),
            ("previousOriginalTransactionId", previousOriginalTransactionId),
            ("webOrderLineItemId", webOrderLineItemId), ("productId", productId), ("type", type),
            ("subscriptionGroupIdentifier", subscriptionGroupIdentifier), ("appTransactionId", appTransactionId),
            ("appAccountToken", appAccountToken),
        ]
    }
}

extension RenewalInfoPayload {
    /// Why nothing of it can be kept, as the end of a sentence that begins with "the renewal info"; nil if it is sound.
    package var flaw: String? { StorableText.flaw(of: [("originalTransactionId", originalTransactionId)]) }
}

/// Texts as columns and indexes of Postgres take them.
private enum StorableText {
    /// UTF-8; Apple's ids have twenty digits, and its product ids a hundred characters. Two of them have to fit into an entry of an
    /// index, which takes 2,704 bytes (Postgres manual, "B-Tree Indexes").
    private static let mostBytes = 1024

    /// The first text that cannot be kept, and why, as the end of a sentence.
    static func flaw(of texts: [(member: String, text: String?)]) -> String? {
        for (member, text) in texts {
            guard let text else { continue }
            if text.utf8.contains(0) { return "has U+0000 in its \(member), which Postgres cannot store" }
            if text.utf8.count > mostBytes { return "has a \(member) of more than \(mostBytes) bytes" }
        }
        return nil
    }
}
