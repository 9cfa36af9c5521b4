import Base
import Customers
import Database
import HTTP
import Postgres
import Subscriptions

/// What callers are told of a customer: RevenueCat's `GET /v1/subscribers/{app_user_id}`.
package struct SubscriberResponses: Sendable {
    private let document: SubscriberDocument
    private let reader: SubscriberQuery
    private let actions: CustomerActions
    private let clock: any WallClock

    package init(document: SubscriberDocument, foldSettings: FoldSettings, clock: any WallClock) {
        self.document = document
        reader = SubscriberQuery(foldSettings: foldSettings)
        actions = CustomerActions(origin: ActionTable.Origin(actor: "api"), foldSettings: foldSettings)
        self.clock = clock
    }

    /// The customer whom the id names, with 304 where the caller has that answer already.
    ///
    /// - Parameters:
    ///   - isUsed: whether the caller names the customer by this id, which is recorded then (`SeenIDs`).
    ///   - attributeErrors: `attributes_error_response`: what was not taken of attributes that came with a receipt.
    /// - Throws: `APIError`, 404, where it names no customer.
    package func answer(
        _ call: APICall, of appUserID: String, status: Int = 200, isUsed: Bool = true, attributeErrors: APIError? = nil
    ) throws -> APIAnswer {
        guard let found = try read(call, of: appUserID, isUsed: isUsed) else {
            throw APIError.notFound("No customer has the id \(appUserID).")
        }
        var response = response(call.request, found, status: status, now: clock.now())
        if let attributeErrors, response.body.first == UInt8(ascii: "{") {
            // By its name it is the first member.
            let errors = JSON.object(["attributes_error_response": attributeErrors.document.sortedByName]).bytes
            response.body = errors.dropLast() + [UInt8(ascii: ",")] + response.body.dropFirst()
        }
        return .response(response)
    }

    /// The customer whom the id names; nil where it names none.
    ///
    /// - Parameters:
    ///   - isUsed: as `answer`.
    ///   - respells: whether a UUID may be in another case than the customer's.
    func read(
        _ call: APICall, of appUserID: String, isUsed: Bool = true, respells: Bool = false
    ) throws -> SubscriberQuery.Found? {
        var found = try reader.find([appUserID], on: call.connection).first ?? nil
        if found == nil, respells { found = try findRespelled([appUserID], on: call.connection).first ?? nil }
        guard let found else { return nil }
        // Only the next reader gains by it, and the next event.
        try? SnapshotTable.write(found.made, on: call.connection)
        if isUsed, SeenIDs.isDue(seen: found.seen, others: found.othersSeen, now: clock.now()) {
            recordUse(of: appUserID, call)
        }
        return found
    }

    /// Records that an app or a backend uses this id (`SeenIDs`). Where that fails, the next use records it.
    func recordUse(of appUserID: String, _ call: APICall) {
        try? SeenIDs.mark([appUserID], now: clock.now(), on: call.connection)
    }

    // MARK: - In parts, for many at once

    /// A customer who is asked for.
    struct Wanted {
        let id: String
        /// False: a caller who may only read asks.
        let mayMake: Bool
    }

    /// A customer who was asked for.
    enum Read {
        case there(SubscriberQuery.Found)
        /// Asking made them.
        case made(SubscriberQuery.Found)
        /// No customer has the id, and none was to be made.
        case none
        /// No customer has the id, and none can have it.
        case refused(APIError)
    }

    /// How often a customer who is deleted again and again is made.
    private static let attempts = 3

    /// The customers whom these ids name, in their order; nil where there is none. Writes nothing.
    func find(_ ids: [String], on connection: PostgresConnection) throws -> [SubscriberQuery.Found?] {
        try reader.find(ids, on: connection)
    }

    /// The customers whom these ids name, in their order; one who is not there is made, where the caller may write. Nil where
    /// that did not succeed.
    func readOrMake(_ wanted: [Wanted], on connection: PostgresConnection) throws -> [Read?] {
        let ids = wanted.map(\.id)
        var read = try reader.find(ids, on: connection).map { $0.map(Read.there) }
        for place in read.indices where read[place] == nil && wanted[place].mayMake {
            // Here, because one of them must not fail the statement of all.
            if let why = AppUserID.objection(toNew: ids[place]) { read[place] = .refused(.unusable(why)) }
        }
        let unmade = read.indices.filter { read[$0] == nil && !wanted[$0].mayMake }
        if !unmade.isEmpty {
            for (place, found) in zip(unmade, try findRespelled(unmade.map { ids[$0] }, on: connection)) {
                read[place] = found.map(Read.there) ?? Read.none
            }
        }
        for _ in 0..<SubscriberResponses.attempts {
            let places = read.indices.filter { read[$0] == nil }
            guard !places.isEmpty else { return read }
            // In one commit: requests about unknown customers must not keep all others waiting for the disk.
            var made = try actions.admit(Set(places.map { ids[$0] }), on: connection)
            let found = try reader.find(places.map { ids[$0] }, on: connection)
            for (place, customer) in zip(places, found) {
                // Of several who ask for one, the first has made them.
                read[place] = customer.map { made.remove(ids[place]) != nil ? .made($0) : .there($0) }
            }
        }
        return read
    }

    /// Those whom UUIDs name in another case; asking with a key that may write would make these spellings their aliases.
    private func findRespelled(
        _ ids: [String], on connection: PostgresConnection
    ) throws -> [SubscriberQuery.Found?] {
        let known = try CustomerTable.find(Set(ids.filter(AppUserID.isUUID)), on: connection)
        guard !known.isEmpty else { return ids.map { _ in nil } }
        return try reader.find(ids.map { known[$0] ?? $0 }, on: connection)
    }

    /// What is answered of an id that no customer has, and no customer is to have by the answer.
    func response(_ request: APIRequest, ofUnknown id: String, now: Int64) -> HTTPResponse {
        let profile = CustomerProfile(
            originalAppUserID: id, appUserIDs: [id], firstSeen: now, lastSeen: now, attributes: .object([]))
        let page = document.page(customer: profile, snapshots: [], now: now)
        return EntityTag(page.tag).response(to: request.http.head, 200, page.body, now: now)
    }

    func response(
        _ request: APIRequest, _ found: SubscriberQuery.Found, status: Int, now: Int64
    ) -> HTTPResponse {
        let profile = found.profile(
            showsAttributes: request.key?.kind == .secret, seen: SubscriberResponses.isSeen(request) ? now : nil)
        let page = document.page(customer: profile, snapshots: found.snapshots, now: now)
        return EntityTag(page.tag).response(to: request.http.head, status, page.body, now: now)
    }

    /// Only apps say what they run on.
    static func isSeen(_ request: APIRequest) -> Bool { request.http.head.header("x-platform") != nil }
}
