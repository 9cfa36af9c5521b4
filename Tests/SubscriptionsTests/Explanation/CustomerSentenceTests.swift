import Base
import Subscriptions
import Testing

struct CustomerSentenceTests {
    private static let until: Int64 = 1_796_379_060_000

    private func sentence(
        _ because: EntitlementExplanation.Because, until: Int64? = until, renews: Bool? = nil,
        in environment: StoreEnvironment = .production
    ) -> String {
        EntitlementExplanation(
            name: "pro", because: because, productID: "com.example.monthly",
            purchase: PurchaseKey(app: "demo", environment: environment, originalTransactionID: "20001"), until: until,
            remark: "renews at 9.99 USD", renews: renews
        ).customerSentence
    }

    @Test func `it says what, until when and why, and no id`() {
        #expect(sentence(.given(.paid)) == "You have pro until 4 December 2026, 10:11 UTC: it is paid for.")
        #expect(
            sentence(.given(.paid), renews: true)
                == "You have pro: it is paid for. It renews on 4 December 2026, 10:11 UTC.")
        #expect(
            sentence(.given(.trial), renews: false)
                == "You have pro until 4 December 2026, 10:11 UTC: it is your free trial. It does not renew.")
        #expect(!sentence(.given(.paid), in: .sandbox).contains("paid"))
        #expect(sentence(.given(.once), until: nil) == "You have pro without an end: you bought it once.")
        #expect(
            sentence(.ended(.refunded))
                == "You do not have pro any more since 4 December 2026, 10:11 UTC: the purchase was refunded.")
        #expect(sentence(.neverBought).hasPrefix("You do not have pro: we know of no purchase"))
        let all =
            EntitlementExplanation.Grant.allCases.map { EntitlementExplanation.Because.given($0) }
            + EndCause.allCases.map { .ended($0) } + [.sandboxDoesNotCount, .neverBought]
        for because in all {
            let text = sentence(because)
            #expect(text.hasSuffix(".") && !text.contains("20001") && !text.contains("com.example"), "\(text)")
        }
        #expect(Set(all.map { sentence($0) }).count >= all.count - 1)
    }
}
