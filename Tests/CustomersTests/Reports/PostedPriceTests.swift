import Base
import Customers
import Subscriptions
import Testing

/// Prices that apps post of transactions that Apple signed none of: anyone who has an app's key can post one.
struct PostedPriceTests {
    /// Two payments of ten dollars, one of which only the app tells.
    private func subscribers() -> (signed: Subscriber, posted: Subscriber) {
        var (signed, posted) = (Subscriber("1000"), Subscriber("2000"))
        signed.period(0, 30)
        posted.currency = nil
        posted.period(0, 30, price: nil)
        posted.post(1_000_000_000, "USD")
        return (signed, posted)
    }

    @Test func `reports, charts and sums count them as payments without a price`() throws {
        let (signed, posted) = subscribers()
        let total = try Report.of([signed, posted], 0, 20).total
        let money = Dictionary(uniqueKeysWithValues: total.currencies.map { ($0.currency ?? "none", $0.money) })
        #expect(Set(money.keys) == ["USD", "none"])
        #expect(money["USD"]?.gross == 10_000 && money["USD"]?.payments == 1 && money["USD"]?.monthly == 10_000)
        #expect(money["none"]?.gross == 0 && money["none"]?.payments == 1 && money["none"]?.monthly == 0)
        let purchase = try #require(posted.purchase)
        let history = try #require(ReportHistory(of: purchase, posted.facts))
        #expect(history.stretches.map(\.state) == [.paid] && history.stretches.allSatisfy { $0.monthly == nil })
        #expect(history.payments.map(\.milliunits) == [0] && history.payments.map(\.cut.currency) == [nil])

        let spending = Spending([try #require(signed.purchase), purchase]).totals
        #expect(spending.map(\.currency) == ["USD", nil] && spending.map(\.paid) == [10_000, 0])
        #expect(spending.map(\.payments) == [1, 1])
    }

    @Test func `a refund of one has no amount either`() throws {
        var posted = subscribers().posted
        posted.refund(at: 5)
        let money = try #require(try Report.of([posted], 0, 20).total.currencies.first)
        #expect(money.currency == nil && money.money.refunds == 1 && money.money.refunded == 0)
    }

    @Test func `people are told whose price it is, and Apple's takes its place`() throws {
        var posted = subscribers().posted
        let period = try #require(posted.purchase?.latest)
        #expect(!period.transaction.isPriceSigned && period.charge?.milliunits == 1_000_000_000)
        #expect(DisplayText.price(of: period) == "1000000 USD (the app's price, not signed)")
        #expect(DisplayText.amount(of: period) == "1000000.00 USD (the app's price, not signed)")
        posted.tell(0, at: 1) { ($0.price, $0.currency) = (9_990, "EUR") }
        let told = try #require(posted.purchase?.latest)
        #expect(told.transaction.isPriceSigned && DisplayText.price(of: told) == "9.99 EUR")
        #expect(told.signedCharge == Charge(currency: "EUR", milliunits: 9_990))
    }
}
