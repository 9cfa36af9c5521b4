import Base
import Customers
import Database
import Subscriptions

/// The preview of a deletion.
extension DatabaseDesk {
    /// Ids and entitlements that are listed; all are counted.
    private static let mostNamed = 50

    /// What there is of a customer, in numbers, and what is left of it.
    func deleting(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let customer = try customer(target)
        let profile = customer.profile
        let ids = profile.appUserIDs
        let bought = try PurchaseQuery.bought(
            by: ids, only: nil, atMost: 1, countedTo: CappedCount.cap, on: connection)
        let grants = customer.purchases.compactMap { Grant($0) }.filter { $0.isRunning(at: now) }
        let entitlements = customer.explanation.entitlements.filter(\.isActive).map(\.name)
        let rows = try CustomerCounts.count(ofIDs: ids, upTo: CappedCount.cap, on: connection)
        let erases = parameters["policy"]?.stringValue == DeletionPolicy.erase.rawValue
        func state(_ member: (JSON, JSON) -> JSON) -> JSON {
            let none = CappedCount(0).json
            return .object([
                "ids": member(.strings(Array(ids.prefix(DatabaseDesk.mostNamed))), .strings([])),
                "id_count": member(.int(Int64(ids.count)), .int(0)),
                "entitlements": member(
                    .strings(Array(entitlements.prefix(DatabaseDesk.mostNamed))), .strings([])),
                "running_grants": member(.int(Int64(grants.count)), .int(0)),
                "attributes": member(CappedCount(rows.attributes).json, none),
                "notes": member(CappedCount(rows.notes).json, none),
                // Purchases stay without their customer, unless they are erased.
                "purchases": member(CappedCount(bought.count).json, erases ? none : CappedCount(bought.count).json),
                "owner": member(.string(profile.originalAppUserID), erases ? .null : .string("anonymous")),
            ])
        }
        var effect = ChangeEffect()
        effect.before = state { before, _ in before }
        effect.after = state { _, after in after }
        return effect
    }
}
