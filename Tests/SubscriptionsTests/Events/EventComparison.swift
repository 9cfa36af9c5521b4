import Base
import Subscriptions

/// RevenueCat's events and ours, member by member: `schemas/events/RevenueCat.md`.
enum EventComparison {
    /// A member of one type on both sides.
    struct Row {
        let type: EventType
        let member: String
        let theirs: String
        let ours: String
        /// Nil where both agree: what we send, their samples have.
        let difference: Difference?
    }

    enum Difference: Equatable {
        /// With the reason.
        case explained(String)
        case unexplained
    }

    /// Every member of every type, in the order in which it is sent.
    static var rows: [Row] {
        EventType.allCases.flatMap { type in
            let theirs = RevenueCatMembers.byType[type] ?? []
            let bodies = (EventBodyTests.bodies[type] ?? []).compactMap { $0["event"]?.members }
            let ours = bodies.flatMap { $0.map(\.name) }.reduce(into: [String]()) {
                if !$0.contains($1) { $0.append($1) }
            }
            return (ours + theirs.map(\.name).filter { !ours.contains($0) }).map { name in
                row(type, name, theirs.first { $0.name == name }, bodies)
            }
        }
    }

    static func row(
        _ type: EventType, _ name: String, _ theirs: RevenueCatMembers.Member?, _ bodies: [[JSON.Member]]
    ) -> Row {
        let values = bodies.compactMap { body in body.first { $0.name == name }?.value }
        let kinds = Set(values.map(kind))
        let isWhole = values.count == bodies.count
        let isKnown =
            theirs.map { theirs in
                !values.isEmpty && kinds.isSubset(of: theirs.kinds) && (isWhole || theirs.isSometimesMissing)
            } ?? false
        let reason = reasons["\(type.rawValue) \(name)"] ?? typeReasons[type] ?? reasons[name]
        return Row(
            type: type, member: name,
            theirs: theirs.map { text($0.kinds, isSometimesMissing: $0.isSometimesMissing) }
                ?? (RevenueCatMembers.byType[type] == nil ? "no sample" : "absent"),
            ours: values.isEmpty ? "absent" : text(kinds, isSometimesMissing: !isWhole),
            difference: isKnown ? nil : reason.map { .explained($0) } ?? .unexplained)
    }

    /// The kinds of what is in a list, or in the objects of an object by name.
    static func inner(_ value: JSON) -> Set<String> {
        switch value {
        case .array(let elements): Set(elements.map(kind))
        case .object(let members):
            Set(members.flatMap { member in (member.value.members ?? []).map { "\($0.name) \(kind($0.value))" } })
        case .raw(let bytes): (try? JSON(parsing: bytes)).map(inner) ?? []
        default: []
        }
    }

    static func kind(_ value: JSON) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .int, .double: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        // Decimals are written as they are.
        case .raw(let bytes): (try? JSON(parsing: bytes)).map(kind) ?? "object"
        }
    }

    private static func text(_ kinds: Set<String>, isSometimesMissing: Bool) -> String {
        let kinds = kinds.subtracting(["null"]).sorted() + kinds.intersection(["null"])
        return kinds.joined(separator: " or ") + (isSometimesMissing ? ", or absent" : "")
    }

    /// Why all members of a type have no counterpart.
    private static let typeReasons: [EventType: String] = [
        .subscriberAlias: "New projects of RevenueCat get none; only endpoints that name the type do.",
        .consumptionRequest: "RevenueCat has no such type; only endpoints that name it get it.",
        .priceIncreaseConsentRequired: consent, .priceIncreaseConsentApproved: consent,
    ]
    private static let consent =
        "RevenueCat publishes no sample. These are the members that public consumers read, and those of the period, which"
        + " strict consumers need of every event."

    /// Why a member differs, in all types or in one.
    private static let reasons: [String: String] = [
        "experiments": "Experiments are a service of RevenueCat's; there are none here.",
        "metadata": "RevenueCat has it in newer events; only purchases in the web have any.",
        "renewal_number": "RevenueCat's newer events have it; the older samples lack it.",
        "discount_percentage": discount, "discount_amount": discount, "discount_identifier": discount,
        "country_code": "Null where Apple signed no storefront.",
        "entitlement_ids": "Null for a product in no entitlement, as RevenueCat's field table says.",
        "entitlement_id": "RevenueCat deprecates it and sends null in newer events.",
        "price": "Null without a rate in `webhooks.usd_rates`, which RevenueCat has for every currency.",
        "price_in_purchased_currency": unsigned, "currency": unsigned,
        "presented_offering_id": "That of the app's post; null where no app posted the transaction with an offering.",
        "offer_code": "The offer that Apple signed; the samples have none.",
        "quantity": "Only where several were bought at once.",
        "is_trial_conversion": "Of a trial that becomes known after the period that followed it.",
        "subscriber_attributes": "Those of the customer; `{}` without any.",
        "is_family_share": "Apple signs it.",
        "BILLING_ISSUE grace_period_expiration_at_ms": "Null for a subscription without a grace period.",
        "NON_RENEWING_PURCHASE expiration_at_ms":
            "The end of a product that has a duration in `products`; RevenueCat has no such ends.",
        "REFUND_REVERSED expiration_at_ms": "Null for a purchase that does not expire.",
    ]
    private static let discount = "RevenueCat's field table of 2026 has it; the App Store signs no discount."
    private static let unsigned = "Null where Apple signed none."

    // MARK: - The page

    static var document: String {
        var merged: [(key: [String], types: [String])] = []
        for row in rows {
            let why: String
            switch row.difference {
            case .explained(let reason): why = reason
            case .unexplained: why = "?"
            case nil: why = ""
            }
            let key = [row.member, row.theirs, row.ours, why]
            if let place = merged.firstIndex(where: { $0.key == key }) {
                merged[place].types.append(row.type.rawValue)
            } else {
                merged.append((key, [row.type.rawValue]))
            }
        }
        let order = merged.map(\.key[0]).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        let lines = order.flatMap { name in
            merged.filter { $0.key[0] == name }.map { key, types in
                "| `\(name)` | \(types.joined(separator: ", ")) | \(key[1]) | \(key[2]) | \(key[3]) |"
            }
        }
        return introduction + lines.joined(separator: "\n") + "\n"
    }

    private static let introduction = """
        # Events beside RevenueCat's

        Every member of every event type, in RevenueCat's published samples and as entitled sends it, with the reason for each
        difference; no reason means that consumers of RevenueCat's events get what they know. RevenueCat: the samples of its
        documentation for the App Store (February and August 2026), for PRODUCT_CHANGE those for Google Play, for TEST the event
        that its dashboard sends. The samples are few: a member that is never null in them may be null in RevenueCat's events.

        Events of the seller's grants have the store PROMOTIONAL, as RevenueCat's do, and no `app_id`.

        Tests make this page from the bodies that they check, and compare it with the samples where these are at hand.

        | Member | Events | RevenueCat | entitled | Why |
        | --- | --- | --- | --- | --- |

        """
}
