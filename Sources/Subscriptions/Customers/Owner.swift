import Base

/// A hash with a secret of the installation (`OwnerSalt`): ids of owners cannot be guessed from ids of transactions.
package typealias SaltedDigest = (String) -> [UInt8]

/// The ids of owners whom no app named.
package enum Owner {
    package static let anonymousPrefix = "$RCAnonymousID:"

    package static func isAnonymous(_ id: String) -> Bool { id.hasPrefix(anonymousPrefix) }

    /// `$RCAnonymousID:` and 32 lower-case hex digits.
    ///
    /// - Parameters:
    ///   - account: `appTransactionId` where there is one, else nil.
    ///   - deletion: the number of the action that deleted the owner before, if one did: then it is another id.
    package static func anonymousID(
        for key: PurchaseKey, account: String?, deletion: Int64? = nil, digest: SaltedDigest
    ) -> String {
        let name = account.map { "account|\($0)" } ?? "purchase|\(key.originalTransactionID)"
        let again = deletion.map { "|after deletion \($0)" } ?? ""
        let bytes = digest("owner|\(key.app)|\(key.environment.rawValue)|\(name)\(again)").prefix(16)
        return anonymousPrefix + Hex.encode(bytes)
    }
}
