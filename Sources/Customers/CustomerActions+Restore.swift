import Base
import Postgres
import Queue
import Records
import Subscriptions

/// By what a claim is decided.
package struct RestoreTerms: Sendable {
    let settings: RestoreSettings
    /// False for a new purchase.
    let isRestore: Bool

    package init(settings: RestoreSettings, isRestore: Bool = true) {
        self.settings = settings
        self.isRestore = isRestore
    }
}

extension CustomerActions {
    /// Sets what becomes of a customer's purchases when others restore them; nil: what the configuration says. Of
    /// customers who become one the last word counts.
    ///
    /// - Returns: whether that is new.
    /// - Throws: `Refusal` where the id names nobody.
    package func setRestoreBehavior(
        _ behavior: RestoreBehavior?, of id: String, on connection: PostgresConnection
    ) throws -> Bool {
        try holding({ [] }, on: connection) { _, now in
            let root = try root(of: id, on: connection)
            guard root.restoreBehavior != behavior else { return false }
            let detail = JSON.object(["restore_behavior": .text(behavior?.rawValue)])
            try ActionLog.add(
                ActionLog.New(.restoreBehavior, id, detail: detail), by: origin, now: now, on: connection)
            try CustomerStore.setRestoreBehavior(behavior, of: root.originalAppUserID, on: connection)
            return true
        }
    }

    /// Whether a claim would be let through at this moment; nothing changes. What nobody owns, anybody may restore.
    ///
    /// - Parameter now: ms since 1970.
    package func mayRestore(
        _ purchase: PurchaseKey, by id: String, settings: RestoreSettings, now: Int64,
        on connection: PostgresConnection
    ) throws -> Bool {
        guard let owner = try PurchaseStore.owners([purchase], on: connection).first ?? nil else { return true }
        let found = try CustomerStore.roots(of: [owner, id], on: connection)
        guard let former = found.first ?? nil else { return true }
        let outcome = try outcome(
            of: Claimed(key: purchase), former, found.last ?? nil, RestoreTerms(settings: settings), now: now,
            on: connection)
        if case .refused = outcome { return false }
        return true
    }

    /// - Parameters:
    ///   - former: the customer who owns the purchase.
    ///   - claimant: the one who wants it; nil: nobody yet.
    func outcome(
        of claimed: Claimed, _ former: CustomerStore.Root, _ claimant: CustomerStore.Root?, _ terms: RestoreTerms,
        now: Int64, on connection: PostgresConnection
    ) throws -> RestoreBehavior.Outcome {
        let behavior = terms.settings.behavior(
            app: claimed.key.app, environment: claimed.key.environment, override: former.restoreBehavior)
        let theirs = try ids(of: former.originalAppUserID, on: connection)
        let isActive = try isActive(try PurchaseStore.owned(by: theirs, on: connection), now, on: connection)
        return behavior.outcome(
            isSame: former == claimant, isOwnerAnonymous: former.isAnonymous, isRestore: terms.isRestore,
            ownerHasActiveSubscription: claimed.isRunning || isActive)
    }

    private func isActive(_ keys: [PurchaseKey], _ now: Int64, on connection: PostgresConnection) throws -> Bool {
        try fold(keys, on: connection).contains { $0.isRenewable && $0.hasAccess(at: now) }
    }
}
