import Base

/// What documents say of a customer beside purchases.
package struct CustomerProfile: Sendable, Equatable {
    package let originalAppUserID: String
    /// All ids, the original one among them.
    package let appUserIDs: [String]
    /// When the customer was first and last seen, in ms.
    package let firstSeen: Int64
    package let lastSeen: Int64
    /// `subscriber_attributes`; nil: not to be shown.
    package let attributes: JSON?
    /// Which version of the app was obtained first, and when, in ms; nil until Apple has said so.
    package let originalApplicationVersion: String?
    package let originalPurchaseDate: Int64?

    package init(
        originalAppUserID: String, appUserIDs: [String], firstSeen: Int64, lastSeen: Int64, attributes: JSON? = nil,
        originalApplicationVersion: String? = nil, originalPurchaseDate: Int64? = nil
    ) {
        self.originalAppUserID = originalAppUserID
        self.appUserIDs = appUserIDs
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.attributes = attributes
        self.originalApplicationVersion = originalApplicationVersion
        self.originalPurchaseDate = originalPurchaseDate
    }

    /// Whether all ids are anonymous.
    package var isAnonymous: Bool { appUserIDs.allSatisfy(Owner.isAnonymous) && Owner.isAnonymous(originalAppUserID) }

    /// `{"original_app_user_id", "app_user_ids", "anonymous"}`.
    package var json: JSON {
        .object([
            "anonymous": .bool(isAnonymous), "app_user_ids": .strings(appUserIDs),
            "original_app_user_id": .string(originalAppUserID),
        ])
    }
}
