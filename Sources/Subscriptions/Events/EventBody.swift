import Base

/// The ids of the customer whom an event is about.
package struct EventIdentity: Sendable, Equatable {
    package let appUserID: String
    package let originalAppUserID: String
    package let aliases: [String]
    /// `subscriber_attributes`: name to value and time.
    package let attributes: JSON

    package init(appUserID: String, originalAppUserID: String, aliases: [String], attributes: JSON = .object([])) {
        self.appUserID = appUserID
        self.originalAppUserID = originalAppUserID
        self.aliases = aliases
        self.attributes = attributes
    }
}

/// Writes an event as its receivers read it: `{"event":{…},"api_version":"1.0"}`, members in the order that was seen
/// on RevenueCat's wire.
package struct EventBody: Sendable {
    package let catalogue: EntitlementCatalogue
    package let rates: DollarRates
    package let terms: SellerTerms

    package init(
        catalogue: EntitlementCatalogue, rates: DollarRates = DollarRates(), terms: SellerTerms = SellerTerms()
    ) {
        self.catalogue = catalogue
        self.rates = rates
        self.terms = terms
    }

    /// - Parameters:
    ///   - id: the draft's id.
    ///   - appID: what receivers know the app by.
    package func json(_ draft: EventDraft, id: String, identity: EventIdentity, appID: String) -> JSON {
        let members: [JSON.Member]
        switch draft.type {
        case .priceIncreaseConsentRequired, .priceIncreaseConsentApproved:
            members = EventMembers(draft: draft, identity: identity).consent
        default:
            members = EventMembers(draft: draft, identity: identity).all(of: self)
        }
        // What was granted is of no app.
        return Self.envelope(
            members + Self.closing(draft.type, id: id, appID: draft.purchase.isGrant ? nil : appID))
    }

    static func closing(_ type: EventType, id: String, appID: String?) -> [JSON.Member] {
        [
            JSON.Member(name: "type", value: .string(type.rawValue)), JSON.Member(name: "id", value: .string(id)),
        ] + (appID.map { [JSON.Member(name: "app_id", value: .string($0))] } ?? [])
    }

    static func envelope(_ members: [JSON.Member]) -> JSON {
        .object(["event": .object(members), "api_version": .string("1.0")])
    }
}
