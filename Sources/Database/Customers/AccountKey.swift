import Base
import Crypto
import Subscriptions

/// One Apple account in one app and environment, as the database names it.
package struct AccountKey: Sendable, Hashable, Comparable {
    /// Apple's `appTransactionId`, or `purchase ID` for a purchase that has none.
    package let id: String
    package let app: String
    package let environment: StoreEnvironment

    /// - Parameter account: `appTransactionId`; nil: the purchase is an account of its own.
    package init(of purchase: PurchaseKey, account: String?) {
        id = account ?? "purchase \(purchase.originalTransactionID)"
        app = purchase.app
        environment = purchase.environment
    }

    /// What the database locks and finds it by: 64 bits of a hash. Of two accounts with the same ones each waits for the other, and
    /// nothing else comes of it.
    var number: Int64 {
        Digest.sha256(Array("\(app)|\(environment.code)|\(id)".utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    package static func < (left: AccountKey, right: AccountKey) -> Bool {
        (left.id, left.app, left.environment.code) < (right.id, right.app, right.environment.code)
    }
}
