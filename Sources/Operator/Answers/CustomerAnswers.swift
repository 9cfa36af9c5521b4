import Base
import Database
import Subscriptions

/// A customer in a list.
package struct CustomerRow: DeskAnswer {
    package let customer: Customer

    package var json: JSON {
        .object([
            "original_app_user_id": .string(customer.originalAppUserID),
            "app_user_ids": .strings(customer.appUserIDs), "anonymous": .bool(customer.isAnonymous),
            "first_seen": .date(customer.firstSeen),
        ])
    }
}

/// An attribute of a customer, as far as the viewer sees it.
package struct AttributeRow: Sendable, Equatable {
    package let key: String
    /// The value, or what is shown instead.
    package let value: String
    package let view: PersonalDataView
    /// ms since 1970.
    package let updated: Int64

    package var json: JSON {
        .object([
            "key": .string(key), "value": .string(value), "shown": .string(view.rawValue),
            "updated_at": .date(updated),
        ])
    }
}

/// All that is known of a customer but what happened.
package struct CustomerAnswer: DeskAnswer {
    /// How the customer was found by the id that was given.
    package let resolved: ResolvedID
    /// Access and its reasons, purchases in words.
    package let explanation: CustomerExplanation
    package let purchases: [Purchase]
    /// The same as rows, for programs.
    let purchaseRows: JSON
    package let spending: Spending
    /// Purchases with more facts than are folded for an answer.
    package let unread: [PurchaseKey]
    /// Whether there are more purchases than were looked at.
    package let isCut: Bool
    package let attributes: [AttributeRow]

    package var profile: CustomerProfile { explanation.profile }

    package var json: JSON {
        .object([
            "resolved": .object([
                "given": .string(resolved.given), "app_user_id": .text(resolved.appUserID),
                "match": .text(resolved.match?.rawValue),
                "differ_only_in_case": .strings(resolved.spellings.map(\.id)),
            ]),
            "customer": .object([
                "original_app_user_id": .string(profile.originalAppUserID),
                "app_user_ids": .strings(profile.appUserIDs), "anonymous": .bool(profile.isAnonymous),
                "first_seen": .date(profile.firstSeen), "last_seen": .date(profile.lastSeen),
            ]),
            "entitlements": explanation.entitlementsJSON, "purchases": purchaseRows,
            "spending": spending.json, "attributes": .array(attributes.map(\.json)),
            "unread_purchases": .strings(unread.map(\.originalTransactionID)), "is_cut": .bool(isCut),
        ])
    }
}

package typealias NoteRow = CustomerNote

extension CustomerNote: DeskAnswer {
    package var json: JSON {
        .object([
            "id": .int(id), "author": .string(author), "at": .date(made), "text": .string(text),
            "app_user_id": .string(appUserID),
        ])
    }
}

/// A step of a customer's timeline.
package struct TimelineRow: DeskAnswer {
    package let entry: TimelineEntry
    package let order: TimelineOrder

    package var json: JSON { entry.json }
}

/// A purchase in a list.
package struct PurchaseRow: DeskAnswer {
    package let purchase: Purchase
    /// The app user id that owns it; nil for a viewer who sees no persons.
    package let owner: String?
    let row: JSON

    package var json: JSON {
        .object((row.members ?? []) + [JSON.Member(name: "app_user_id", value: .text(owner))])
    }
}

/// A purchase with what was decoded of it.
package struct PurchaseAnswer: DeskAnswer {
    package let row: PurchaseRow
    package let explanation: PurchaseExplanation
    /// Original id of the customer who owns it; nil for a viewer who sees no persons.
    package let customer: String?

    package var json: JSON {
        .object(
            (row.json.members ?? []) + [
                JSON.Member(name: "customer", value: .text(customer)),
                JSON.Member(name: "title", value: .string(explanation.title)),
                JSON.Member(
                    name: "facts",
                    value: .array(
                        explanation.lines.map { .object(["label": .string($0.label), "text": .string($0.text)]) })),
            ])
    }
}
