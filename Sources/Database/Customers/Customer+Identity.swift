import Subscriptions

extension Customer {
    /// The ids by which an event names the customer. `app_user_id` is the one that an app or a backend used last, as with
    /// RevenueCat, and an id that names a person comes before every anonymous one.
    ///
    /// - Parameter owner: the id that owns the purchase: `app_user_id` where no id names a person and none was used.
    package func identity(of owner: String) -> EventIdentity {
        let named = appUserIDs.filter { !Owner.isAnonymous($0) }
        return EventIdentity(
            appUserID: seenLast(of: named) ?? named.last ?? seenLast(of: appUserIDs, inDoubt: owner) ?? owner,
            originalAppUserID: originalAppUserID, aliases: appUserIDs, attributes: attributes.json)
    }

    /// The one of these ids that was used last; nil where none was.
    ///
    /// - Parameter inDoubt: the one that counts where several were used at the same instant; else the one given last.
    private func seenLast(of ids: [String], inDoubt: String? = nil) -> String? {
        guard let latest = ids.compactMap({ seen[$0] }).max() else { return nil }
        let found = ids.filter { seen[$0] == latest }
        return found.first { $0 == inDoubt } ?? found.last
    }
}
