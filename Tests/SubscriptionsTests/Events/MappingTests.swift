import Base
import Subscriptions
import Testing

/// The event table, row by row: what it says is what happens.
struct MappingTests {
    @Test(arguments: MappingStory.all)
    func `a notification makes the events of its row`(story: MappingStory) throws {
        let row = try #require(story.row)
        let outcome = story.play()
        if row.notificationType != "any" {
            #expect(outcome.heard.notification.type == row.notificationType)
            #expect(outcome.heard.notification.subtype == row.subtype)
        }
        #expect(outcome.drafts.names == row.outcomes.map(\.name))
        #expect(outcome.purchase.map(story.leaves) ?? true)
        for (draft, wanted) in zip(outcome.drafts, row.outcomes) {
            for (member, source) in wanted.members {
                let value = Self.body(draft)[member]?.text
                #expect(value == Self.text(source, outcome), "\(wanted.name).\(member)")
                if member == "price" { #expect(Self.body(draft)["price_in_purchased_currency"]?.text == value) }
            }
        }
    }

    private static func body(_ draft: EventDraft) -> JSON {
        let identity = EventIdentity(appUserID: "a", originalAppUserID: "a", aliases: ["a"])
        let body = EventBody(catalogue: EntitlementCatalogue()).json(draft, id: "x", identity: identity, appID: "demo")
        return body["event"] ?? .null
    }

    /// The JSON that a member's source in the table stands for.
    private static func text(_ source: String, _ outcome: MappingStory.Outcome) -> String? {
        let (T, R, stored) = (outcome.heard.transaction, outcome.heard.renewal, outcome.stored)
        return switch source {
        case "T.productId": T.map { JSON.string($0.productID).text }
        case "T.price": T?.price.map { Money.number(milliunits: $0).text }
        case "-T.price": T?.price.map { Money.number(milliunits: -$0).text }
        case "-T.price * T.revocationPercentage":
            T?.price.map { Money.number(milliunits: -$0 * Int64(T?.revocationPercentage ?? 0) / 100_000).text }
        case "stored.price": stored?.transaction.price.map { Money.number(milliunits: $0).text }
        case "T.expiresDate": T?.expiresDate.map(String.init)
        case "T.revocationDate": T?.revocationDate.map(String.init)
        case "T.offerIdentifier": T?.offerIdentifier.map { JSON.string($0).text }
        case "R.autoRenewProductId": R?.autoRenewProductID.map { JSON.string($0).text }
        case "R.gracePeriodExpiresDate": R?.gracePeriodExpiresDate.map(String.init)
        case "stored.productId": stored.map { JSON.string($0.productID).text }
        case "stored.expiresDate": stored?.transaction.expiresDate.map(String.init)
        case "stored.number": stored.map { String($0.number) }
        case "stored.number + 1": stored.map { String($0.number + 1) }
        case "null", "true", "false", "0", "1": source
        default: source.contains(".") ? nil : JSON.string(source).text
        }
    }

    @Test(arguments: EventTypeTable.rows.map(\.name))
    func `every row has a story`(name: String) {
        #expect(MappingStory.all.contains { $0.name == name })
    }

    @Test(arguments: MappingStory.all)
    func `every story has a row`(story: MappingStory) {
        #expect(story.row != nil)
        #expect(MappingStory.all.count { $0.testDescription == story.testDescription } == 1)
    }
}
