import Base
import HTTPServer
import Postgres
import Records
import Subscriptions

/// What callers are told of a customer: RevenueCat's `GET /v1/subscribers/{app_user_id}`.
package struct SubscriberAnswers: Sendable {
    private let document: SubscriberDocument
    /// ms of grace where Apple says that there is some and gives no end.
    private let defaultGrace: Int64
    private let clock: any WallClock

    package init(document: SubscriberDocument, defaultGrace: Duration, clock: any WallClock) {
        self.document = document
        self.defaultGrace = defaultGrace.milliseconds
        self.clock = clock
    }

    /// The customer whom the id names.
    ///
    /// - Throws: `APIError`, 404, where it names nobody.
    package func answer(_ call: APICall, of appUserID: String, status: Int = 200) throws -> APIAnswer {
        guard
            let found = try CustomerReader.find(anyID: appUserID, defaultGrace: defaultGrace, on: call.connection)
        else { throw APIError.notFound("Nobody is known by \(appUserID).") }
        let profile = CustomerProfile(
            originalAppUserID: found.customer.originalAppUserID, appUserIDs: found.customer.appUserIDs,
            firstSeen: found.customer.firstSeen, lastSeen: found.lastSeen)
        return .response(
            .document(status, document.json(customer: profile, purchases: found.purchases, now: clock.now())))
    }
}
