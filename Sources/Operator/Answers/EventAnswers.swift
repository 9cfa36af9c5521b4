import Base
import Database

package typealias EventRow = EventSummary

extension EventSummary: DeskAnswer {
    /// The members of its JSON document.
    package var members: [JSON.Member] { json.members ?? [] }

    package var json: JSON {
        .object([
            "id": .string(id), "type": .string(type), "app": .string(app),
            "environment": .string(environment.rawValue), "original_transaction_id": .text(originalTransactionID),
            "sequence": .integer(sequence), "created_at": .date(created),
        ])
    }
}

/// An event with its body and its deliveries.
package struct EventAnswer: DeskAnswer {
    package let event: EventSummary
    /// As consumers get it, but for what the viewer does not see; empty: not kept any more.
    package let body: [UInt8]
    package let deliveries: [DeliverySummary]
    /// The event that it repeats under a new id.
    package let repeats: String?

    package var json: JSON {
        .object(
            event.members + [
                JSON.Member(name: "body", value: body.isEmpty ? .null : .raw(body)),
                JSON.Member(name: "repeats_event", value: .text(repeats)),
                JSON.Member(name: "deliveries", value: .array(deliveries.map(\.json))),
            ])
    }
}

/// Bodies of events as a viewer sees them.
package enum ShownBody {
    private static let attributes = "subscriber_attributes"

    /// The body as a viewer sees it; empty for one who sees no persons, whose ids are in it.
    package static func of(_ body: [UInt8], for viewer: Viewer) -> [UInt8] {
        viewer.seesPersons ? of(body, for: viewer.personalData) : []
    }

    /// The body with the values of attributes masked; as it is where it has none, or where all of it is seen.
    package static func of(_ body: [UInt8], for view: PersonalDataView) -> [UInt8] {
        guard view != .whole, !body.isEmpty else { return body }
        // What is no JSON has no attributes that could be told from the rest.
        guard let json = try? JSON(parsing: body, deepest: 64) else { return Array("null".utf8) }
        let (shown, isChanged) = masked(json, view)
        return isChanged ? shown.bytes : body
    }

    private static func masked(_ json: JSON, _ view: PersonalDataView) -> (JSON, Bool) {
        switch json {
        case .object(let members):
            var isChanged = false
            let shown = members.map { member -> JSON.Member in
                if member.name == attributes, ![.null, .object([]), .array([])].contains(member.value) {
                    isChanged = true
                    return JSON.Member(name: member.name, value: hidden(member.value, view))
                }
                let (value, changed) = masked(member.value, view)
                isChanged = isChanged || changed
                return JSON.Member(name: member.name, value: value)
            }
            return (.object(shown), isChanged)
        case .array(let values):
            let shown = values.map { masked($0, view) }
            return (.array(shown.map(\.0)), shown.contains(where: \.1))
        default:
            return (json, false)
        }
    }

    /// Every value in it masked, but when it was set.
    private static func hidden(_ json: JSON, _ view: PersonalDataView) -> JSON {
        switch json {
        case .object(let members):
            .object(
                members.map { member in
                    let isDate = member.name == "updated_at_ms" && member.value.intValue != nil
                    return isDate ? member : JSON.Member(name: member.name, value: hidden(member.value, view))
                })
        case .array(let values): .array(values.map { hidden($0, view) })
        case .string(let text): .string(view.shown(text))
        case .null: .null
        case .bool, .int, .double, .raw: .string(PersonalDataView.mask)
        }
    }
}
