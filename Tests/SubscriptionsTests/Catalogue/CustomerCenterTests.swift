import Base
import FoundationEssentials
import Subscriptions
import TestSupport
import Testing

/// The page of Customer Center, as the SDKs for Apple's platforms and Android decode it.
struct CustomerCenterTests {
    /// What both decoders insist on: the members without a default of the two models that `CustomerCenterShapes` names.
    private struct Answer: Decodable {
        struct Page: Decodable {
            let appearance: Appearance
            let screens: [String: Screen]
            let localization: Localization
            let support: Support
            let changePlans: [Plan]
        }
        struct Appearance: Decodable {
            struct Colors: Decodable { let accentColor: String? }
            let light: Colors
            let dark: Colors
        }
        struct Screen: Decodable {
            struct Path: Decodable {
                let id: String
                let title: String
                let type: String
                let url: String?
                let openMethod: String?
            }
            let title: String
            let type: String
            let subtitle: String?
            let paths: [Path]
        }
        struct Localization: Decodable {
            let locale: String
            let localizedStrings: [String: String]
        }
        struct Support: Decodable { let email: String }
        struct Plan: Decodable { let groupId: String }

        let customerCenter: Page
        let lastPublishedAppVersion: String?
        let itunesTrackId: UInt?
    }

    private func decode(_ page: JSON?) throws -> Answer.Page {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Answer.self, from: Data(CustomerCenter.document(page).bytes)).customerCenter
    }

    @Test func `the usual page is one that both SDKs show, with what they do by themselves`() throws {
        let page = try decode(nil)
        #expect(CustomerCenterShapes.page.flaws(in: CustomerCenter.usual) == [])
        #expect(Set(page.screens.keys) == Set(CustomerCenter.screens))
        for (name, screen) in page.screens { #expect(screen.type == name && !screen.paths.isEmpty) }
        let paths = try #require(page.screens["MANAGEMENT"]).paths
        // Each of these the SDK carries out itself; a path of the app's own needs more.
        #expect(paths.map(\.type) == ["MISSING_PURCHASE", "CHANGE_PLANS", "REFUND_REQUEST", "CANCEL"])
        #expect(Set(paths.map(\.id)).count == paths.count)
        #expect(page.support.email.isEmpty && page.changePlans.isEmpty)
    }

    @Test func `what is configured is passed on as it is, and the rest is usual`() throws {
        let text = """
            { "support": { "email": "help@example.com", "a_member_to_come": [1] }, "screens": null,
              "appearance": { "light": { "accent_color": "#12AB34" }, "dark": {} }, "more": true }
            """
        let page = try JSON(parsing: Array(text.utf8))
        let document = try #require(CustomerCenter.document(page)["customer_center"])
        #expect(document["support"] == page["support"] && document["appearance"] == page["appearance"])
        #expect(document["more"] == .bool(true) && document["screens"] == CustomerCenter.usual["screens"])
        let decoded = try decode(page)
        #expect(decoded.support.email == "help@example.com" && decoded.appearance.light.accentColor == "#12AB34")
        #expect(Set(decoded.screens.keys) == Set(CustomerCenter.screens))
    }

    private static let path = #"{ "id": "p", "title": "P", "type": "CUSTOM_URL" }"#
    private static let offer =
        #"{ "eligible": true, "title": "t", "subtitle": "s", "product_mapping": { "a": 1 }, "ios_offer_id": "o" }"#

    private static func screen(_ path: String, named name: String = "NO_ACTIVE", type: String = "NO_ACTIVE") -> String {
        #"{ "screens": { "\#(name)": { "type": "\#(type)", "title": "T", "paths": [\#(path)] } } }"#
    }

    @Test(arguments: [
        (#"{ "support": {} }"#, ".support.email"),
        (#"{ "appearance": { "light": { "text_color": "red" }, "dark": {} } }"#, ".appearance.light.text_color"),
        (#"{ "appearance": { "light": {} } }"#, ".appearance.dark"),
        (
            #"{ "localization": { "locale": "de", "localized_strings": { "done": 1 } } }"#,
            ".localization.localized_strings.done"
        ),
        (
            #"{ "change_plans": [{ "group_id": "1", "group_name": "g", "products": [{ "product_id": "p" }] }] }"#,
            ".change_plans[0].products[0].selected"
        ),
        (screen("", named: "OTHER", type: "OTHER"), ".screens.OTHER"),
        (screen("", type: "MANAGEMENT"), ".screens.NO_ACTIVE.type"),
        (screen(path), ".screens.NO_ACTIVE.paths[0].url .screens.NO_ACTIVE.paths[0].open_method"),
        (
            screen(#"{ "id": "p", "title": "P", "type": "CANCEL", "promotional_offer": \#(offer) }"#),
            ".screens.NO_ACTIVE.paths[0].promotional_offer.product_mapping.a"
        ),
        (
            #"{ "support": { "email": "", "support_tickets": { "allow_creation": true, "customer_type": "all" } } }"#,
            ".support.support_tickets.allow_creation"
        ),
    ])
    func `what an SDK could not read is named`(text: String, places: String) throws {
        let flaws = CustomerCenterShapes.page.flaws(in: try JSON(parsing: Array(text.utf8)))
        #expect(flaws.map(\.place).joined(separator: " ") == places)
    }
}
