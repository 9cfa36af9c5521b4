import Base
import Database
import HTTP
import Subscriptions

/// What REST v2 says of a customer.
struct V2Answers: Sendable {
    let document: V2Document
    let responses: SubscriberResponses
    let foldSettings: FoldSettings
    let clock: any WallClock

    /// The customer who has the id that the path names.
    ///
    /// Naming a customer here is no use of the id (`SeenIDs`): what walks through all customers by their original ids
    /// must not change the ids that webhooks name.
    ///
    /// - Throws: `APIError`, 404.
    func customer(
        _ place: V2Place, _ call: APICall, parameter: String = "customer_id"
    ) throws -> SubscriberQuery.Found {
        guard let found = try responses.read(call, of: place.customer, isUsed: false, respells: true) else {
            throw APIError.notFound("No customer has the id \(place.customer).", parameter: parameter)
        }
        return found
    }

    /// The spelling of the path's id that names the customer: a UUID may be in another case.
    ///
    /// - Throws: `APIError`, 404.
    func knownID(_ place: V2Place, _ call: APICall) throws -> String {
        let found = try customer(place, call)
        return found.appUserIDs.contains(place.customer) ? place.customer : found.originalAppUserID
    }

    /// - Parameter showsAttributes: `expand=attributes`.
    func json(_ place: V2Place, _ found: SubscriberQuery.Found, showsAttributes: Bool = false) -> JSON {
        let profile = found.profile(showsAttributes: true)
        return V2Document.customer(
            place, firstSeen: profile.firstSeen, lastSeen: profile.lastSeen,
            active: document.activeEntitlements(of: profile, found.snapshots, now: clock.now()),
            attributes: showsAttributes ? V2Document.attributes(found.attributes) : nil)
    }

    func answer(
        _ place: V2Place, _ call: APICall, status: Int = 200, showsAttributes: Bool = false
    ) throws -> APIAnswer {
        let found = try customer(place, call)
        return .response(.document(status, json(place, found, showsAttributes: showsAttributes)))
    }

    /// The customer's purchases, folded from their facts: snapshots do not have the money and the next product.
    ///
    /// - Parameter environment: nil: those of all.
    func purchases(
        _ found: SubscriberQuery.Found, in environment: StoreEnvironment?, _ call: APICall
    ) throws -> [Purchase] {
        let keys = found.snapshots.map(\.key).filter { key in environment.map { $0 == key.environment } ?? true }
        var purchases: [Purchase] = []
        // Facts take much more memory than what they become.
        for part in try FactBatches.split(keys, on: call.connection) {
            let keys = Array(keys[part])
            purchases += zip(keys, try FactTable.load(keys, on: call.connection)).compactMap { key, facts in
                Purchase(folding: facts, key: key, foldSettings: foldSettings)
            }
        }
        return purchases
    }
}
