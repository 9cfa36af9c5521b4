import Base
import Database
import Postgres
import Subscriptions

/// Ends of access that consumers must not hear of: what the facts of one purchase alone cannot tell.
///
/// A purchase that goes on as another one, under a new original transaction id, has an end, and its customer has none. And
/// an end that was told is not told again because Apple moved it from one past instant to another.
struct UntoldEnds {
    private let continued: Set<PurchaseKey>
    private let told: Set<[UInt8]>

    /// Asks the database where there is something to ask.
    ///
    /// - Parameter purchases: those that the drafts are about.
    init(
        among drafts: [EventDraft], of purchases: [Purchase], foldSettings: FoldSettings,
        on connection: PostgresConnection
    ) throws {
        let ends = drafts.filter { $0.type == .expiration }
        let ending = Set(ends.map(\.purchase))
        continued = try PurchaseTable.continued(
            purchases.filter { ending.contains($0.key) }, foldSettings: foldSettings, on: connection)
        let ids = ends.flatMap { draft in
            draft.sequel.map { sequel in
                sequel.ends.map { UntoldEnds.id(of: .expiration, $0, draft) }
                    + sequel.extensions.map { UntoldEnds.id(of: .subscriptionExtended, $0, draft) }
            } ?? []
        }
        told = try EventTable.known(ids, on: connection)
    }

    func contains(_ draft: EventDraft) -> Bool {
        guard draft.type == .expiration else { return false }
        return continued.contains(draft.purchase)
            || draft.isRepetition { told.contains(UntoldEnds.id(of: $0, $1, draft).id) }
    }

    private static func id(of type: EventType, _ cause: String, _ draft: EventDraft) -> (lane: Lane, id: [UInt8]) {
        (draft.purchase.lane, UUIDText.bytes(draft.id(of: type, cause)) ?? [])
    }
}
