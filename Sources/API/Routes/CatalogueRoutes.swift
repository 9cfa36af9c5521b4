import Base
import Database
import HTTP
import Subscriptions

/// What apps offer, and which entitlements products give.
package struct CatalogueRoutes: Sendable {
    private let offerings: OfferingCatalogue
    private let offered: OfferingAnswers
    private let customerCenter: OfferingAnswers.Answer
    private let entitlements: EntitlementCatalogue
    private let answers: SubscriberResponses
    private let clock: any WallClock

    package init(
        offerings: OfferingCatalogue, entitlements: EntitlementCatalogue, answers: SubscriberResponses,
        clock: any WallClock
    ) {
        self.offerings = offerings
        offered = OfferingAnswers(offerings)
        customerCenter = OfferingAnswers.Answer(CustomerCenter.document(offerings.customerCenter))
        self.entitlements = entitlements
        self.answers = answers
        self.clock = clock
    }

    package var routes: [APIRoute] {
        [
            APIRoute("GET", "/v1/subscribers/{app_user_id}/offerings", .publicKey) { call in
                let id = try call.appUserID()
                let platform = try CatalogueRoutes.platform(call)
                // Reading makes no customer: an unknown one has no override.
                let chosen = try OfferingOverrides.load(id, on: call.connection)
                return tagged(call, offered.answer(platform: platform, override: chosen))
            },
            APIRoute(
                "POST", "/v1/subscribers/{app_user_id}/offerings/{offering}/override", .secretKey(.write)
            ) { call in
                let offering = try call.parameter("offering")
                guard offerings.has(offering) else {
                    throw APIError.notFound("There is no offering \(offering) in the configuration.")
                }
                return try override(call, offering)
            },
            APIRoute("DELETE", "/v1/subscribers/{app_user_id}/offerings/override", .secretKey(.write)) { call in
                try override(call, nil)
            },
            APIRoute("GET", "/v1/product_entitlement_mapping", .anyKey) { call in
                tagged(call, OfferingAnswers.Answer(.object(["product_entitlement_mapping": mapping])))
            },
            APIRoute("GET", "/v1/customercenter/{app_user_id}", .anyKey) { call in
                _ = try call.appUserID()
                return tagged(call, customerCenter)
            },
        ]
    }

    /// The answer, or 304 where the caller has it.
    private func tagged(_ call: APICall, _ answer: OfferingAnswers.Answer) -> APIAnswer {
        .response(answer.tag.response(to: call.request.http.head, 200, answer.body, now: clock.now()))
    }

    private func override(_ call: APICall, _ offering: String?) throws -> APIAnswer {
        let id = try call.appUserID()
        guard try OfferingOverrides.set(offering, for: id, on: call.connection) else {
            throw APIError.notFound("No customer has the id \(id).")
        }
        return try answers.answer(call, of: id, status: 201)
    }

    private var mapping: JSON {
        let products = Set(entitlements.products.values.joined()).sorted()
        return .object(
            products.map { id in
                JSON.Member(
                    name: id,
                    value: .object([
                        "product_identifier": .string(id),
                        "entitlements": .strings(entitlements.entitlements(of: id)),
                    ]))
            })
    }

    private static func platform(_ call: APICall) throws -> String {
        guard let platform = call.platform,
            (OfferingCatalogue.applePlatforms + OfferingCatalogue.otherPlatforms).contains(platform)
        else { throw APIError(400, code: 7000, "Invalid Platform") }
        return platform
    }
}
