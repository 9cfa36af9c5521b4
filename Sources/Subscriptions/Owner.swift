import Base

/// To whom a purchase belongs, as far as its facts tell.
package enum Owner: Sendable, Hashable {
    /// The id that an action gave it to.
    case assigned(String)
    /// The app account token that was signed first.
    case token(String)
    /// An id made of the account: purchases of one account without a token share it.
    case anonymous(String)

    package static let anonymousPrefix = "$RCAnonymousID:"

    package var id: String {
        switch self {
        case .assigned(let id), .token(let id), .anonymous(let id): id
        }
    }

    package static func isAnonymous(_ id: String) -> Bool { id.hasPrefix(anonymousPrefix) }

    /// `$RCAnonymousID:` and 32 lower-case hex digits.
    ///
    /// - Parameters:
    ///   - account: `appTransactionId` where there is one, else nil.
    ///   - deletion: the number of the action that deleted the owner before, if one did: then it is another id.
    package static func anonymousID(
        for key: PurchaseKey, account: String?, deletion: Int64? = nil, digest: Digest
    ) -> String {
        let name = account.map { "account|\($0)" } ?? "purchase|\(key.originalTransactionID)"
        let again = deletion.map { "|after deletion \($0)" } ?? ""
        let bytes = digest("owner|\(key.app)|\(key.environment.rawValue)|\(name)\(again)").prefix(16)
        return anonymousPrefix + Hex.encode(bytes)
    }
}

extension Purchase {
    package func owner(digest: Digest) -> Owner {
        if let assignedOwner { return .assigned(assignedOwner) }
        if let token = tokens.first { return .token(token) }
        return .anonymous(Owner.anonymousID(for: key, account: appTransactionID, digest: digest))
    }
}
