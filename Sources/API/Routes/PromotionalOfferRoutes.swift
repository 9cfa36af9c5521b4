import AppStore
import Base
import Crypto
import HTTP

/// Signs promotional offers for apps. Who may have one, the App Store checks when it is bought: only who subscribes or
/// has subscribed.
package struct PromotionalOfferRoutes: Sendable {
    /// An app, and what signs its offers; nil: it has no key.
    package struct App: Sendable {
        package let id: String
        package let bundleID: String
        package let key: PromotionalOfferSignature.Key?

        package init(id: String, bundleID: String, key: PromotionalOfferSignature.Key?) {
            self.id = id
            self.bundleID = bundleID
            self.key = key
        }
    }

    /// Offers that one call may ask for.
    private static let limit = 100

    private let apps: [App]
    private let clock: any WallClock

    package init(apps: [App], clock: any WallClock) {
        self.apps = apps
        self.clock = clock
    }

    package var routes: [APIRoute] {
        [
            APIRoute("POST", "/v1/offers", .anyKey) { call in
                let body = try call.json()
                let id = try body.text("app_user_id")
                _ = try APICall.appUserID(id)
                // As the device spells it: StoreKit is given the same.
                let account = PromotionalOfferRoutes.account(id, call)
                guard let wanted = body["generate_offers"]?.arrayValue,
                    (1...PromotionalOfferRoutes.limit).contains(wanted.count)
                else {
                    throw APIError.badRequest(
                        "generate_offers must be a list of 1 to \(PromotionalOfferRoutes.limit) offers.")
                }
                let app = try app(of: call)
                let offers = try wanted.map { item -> JSON in
                    guard item.members != nil else { throw APIError.badRequest("An offer must be an object.") }
                    return try answer(try item.text("product_id"), try item.text("offer_id"), account, app)
                }
                return .response(.document(200, .object(["offers": .array(offers)])))
            }
        ]
    }

    private func answer(_ product: String, _ offer: String, _ account: String, _ app: App?) throws -> JSON {
        let signed = try app.flatMap { app in
            try app.key?.sign(
                .init(bundleID: app.bundleID, productID: product, offerID: offer, account: account), now: clock.now())
        }
        let reason =
            app == nil
            ? "The app is ambiguous: use an API key of the app." : "The app has no key for signing offers."
        return .object([
            "key_id": .string(app?.key?.id ?? ""), "offer_id": .string(offer), "product_id": .string(product),
            "signature_data": signed.map { signed in
                .object([
                    "nonce": .string(signed.nonce), "signature": .string(signed.signature),
                    "timestamp": .int(signed.timestamp),
                ])
            } ?? .null,
            "signature_error": signed == nil
                ? .object(["code": .int(7234), "message": .string(reason)]) : .null,
        ])
    }

    /// That of the key, else the one with the bundle that asks, else the only one.
    private func app(of call: APICall) throws -> App? {
        let asking = call.head.header("x-client-bundle-id").flatMap { id in apps.first { $0.bundleID == id } }
        guard let owner = call.key?.app else { return asking ?? (apps.count == 1 ? apps.first : nil) }
        guard asking == nil || asking?.id == owner else {
            throw APIError(403, code: APIError.invalidKeyCode, "This API key belongs to another app.")
        }
        return apps.first { $0.id == owner }
    }

    /// What RevenueCat's SDK gives StoreKit beside the offer. With StoreKit 1 (`X-StoreKit-Version`) it is the app user id
    /// as it is; with StoreKit 2 that id as an app account token where it is a UUID, else nothing.
    private static func account(_ appUserID: String, _ call: APICall) -> String {
        let isFirst =
            call.head.header("x-storekit-version").map { $0 == "1" }
            ?? (call.head.header("x-storekit2-enabled")?.lowercased() == "false")
        if isFirst { return appUserID }
        return isUUID(appUserID) ? appUserID.lowercased() : ""
    }

    /// 8-4-4-4-12 hexadecimal digits.
    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.joined().utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
            }
    }
}
