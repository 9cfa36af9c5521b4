import Subscriptions

extension Customer {
    /// Who an event is about: the newest id that a person gave themselves; while nobody did, the owner's.
    package func identity(of owner: String) -> EventIdentity {
        EventIdentity(
            appUserID: appUserIDs.last { !Owner.isAnonymous($0) } ?? owner, originalAppUserID: originalAppUserID,
            aliases: appUserIDs, attributes: attributes.json)
    }
}
