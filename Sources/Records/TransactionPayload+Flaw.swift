import AppStore
import Subscriptions

extension TransactionPayload {
    /// Why it gives no access, as the end of a sentence that begins with "the transaction"; nil if it is sound.
    ///
    /// Members that are missing or of another type would give access for ever otherwise: an unreadable end would be no end,
    /// and an unreadable revocation date no revocation.
    package var flaw: String? {
        if !unreadable.isEmpty {
            return "has members of another type than Apple documents: \(unreadable.joined(separator: ", "))"
        }
        guard let fact = TransactionFact(self, tie: []) else { return "lacks its id, product or purchase date" }
        guard fact.lacksEnd else { return nil }
        switch type {
        case nil: return "lacks its type and its expiresDate"
        case TransactionFact.autoRenewable?: return "renews by itself and lacks its expiresDate"
        case let type?:
            return "is of a type that this version does not know (\(type.prefix(64))) and lacks its expiresDate:"
                + " upgrade entitled, and it is tried again"
        }
    }
}
