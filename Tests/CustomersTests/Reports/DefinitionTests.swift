import Base
import Customers
import Subscriptions
import Testing

/// Each definition has its row: a life, and what the 30 days from day 0 on say of it.
struct DefinitionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let live: @Sendable (inout Subscriber) -> Void
        let words: String
        let money: String

        init(
            _ name: String, _ words: String, _ money: String = "",
            _ live: @escaping @Sendable (inout Subscriber) -> Void
        ) {
            (testDescription, self.words, self.money, self.live) = (name, words, money, live)
        }
    }

    static let beginnings = [
        Row("a purchase", "new 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") { $0.period(5, 35) },
        Row("a purchase before", "active 1, paying 1", "monthly USD 0 (0), mrr 10") { $0.period(-5, 35) },
        Row("a purchase at the end of it", "") { $0.period(30, 60) },
        Row("a purchase at its beginning", "new 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(0, 30)
        },
        Row("a trial", "new 1, trials_started 1, active 1, in_trial 1") {
            $0.period(20, 34, price: 0, discount: "FREE_TRIAL")
        },
        Row("a trial whose price nobody signed", "new 1, trials_started 1, active 1, in_trial 1") {
            $0.period(20, 34, price: nil, discount: "FREE_TRIAL")
        },
        Row(
            "a trial that becomes paid", "new 1, trials_started 1, trial_conversions 1, active 1, paying 1",
            "monthly USD 10 (1), mrr 10"
        ) {
            $0.period(1, 15, price: 0, discount: "FREE_TRIAL")
            $0.period(15, 45, renewal: true)
        },
        Row("a trial that does not", "new 1, churned 1, churned_voluntary 1, churned_trials 1, trials_started 1") {
            $0.period(1, 15, price: 0, discount: "FREE_TRIAL")
            $0.off(at: 2)
        },
        Row("an introductory price", "new 1, active 1, paying 1", "monthly USD 3 (1), mrr 1") {
            $0.period(1, 91, price: 3_000, discount: "PAY_UP_FRONT")
        },
        Row("a renewal", "renewed 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(-25, 5)
            $0.period(5, 35, renewal: true)
        },
        Row("a renewal that was charged ahead of it", "active 1, paying 1", "monthly USD 0 (0), mrr 10") {
            $0.period(-1, 31)
            $0.period(31, 61, renewal: true, signed: 29.5)
        },
        Row("a renewal heard of first", "taken_over 1, renewed 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(5, 35, renewal: true, isFirst: false)
        },
        Row("a renewal half an hour late", "renewed 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(-25, 5)
            $0.period(5.02, 35, renewal: true)
        },
        Row(
            "a lapse and a return", "resubscribed 1, churned 1, churned_voluntary 1, active 1, paying 1",
            "monthly USD 10 (1), mrr 10"
        ) {
            $0.period(-25, 5)
            $0.expire(1, at: 5)
            $0.period(8, 38)
        },
    ]

    static let changes = [
        Row(
            "an upgrade amid a period", "upgraded 1, active 1, paying 1",
            "yearly USD 100 (1), mrr 8.333"
        ) {
            $0.period(-5, 25)
            $0.upgrade(10, 375, "yearly", price: 100_000)
        },
        Row(
            "an upgrade whose refund Apple signed", "upgraded 1, active 1, paying 1",
            "monthly USD 0 (0) - 4.5 (1); yearly USD 100 (1), mrr 8.333"
        ) {
            $0.period(-5, 25)
            $0.upgrade(10, 375, "yearly", price: 100_000)
            $0.refund(0, at: 10, type: "REFUND_PRORATED", percentage: 45_000)
        },
        Row(
            "an upgrade whose refund Apple signed without its share", "upgraded 1, active 1, paying 1",
            "monthly USD 0 (0) - 5 (1); yearly USD 100 (1), mrr 8.333"
        ) {
            $0.period(-5, 25)
            $0.upgrade(10, 375, "yearly", price: 100_000)
            $0.refund(0, at: 10, type: nil)
        },
        Row("a downgrade waits", "active 1, paying 1", "yearly USD 0 (0), mrr 10") {
            $0.period(-5, 360, "yearly", price: 120_000)
            $0.say(at: 10) { ($0.autoRenewStatus, $0.autoRenewProductID) = (1, "monthly") }
        },
        Row("a downgrade comes", "renewed 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(-355, 10, "yearly", price: 120_000)
            $0.period(10, 40, renewal: true)
        },
        Row("switched off", "active 1, paying 1", "monthly USD 0 (0), mrr 10") {
            $0.period(-5, 35)
            $0.off(at: 10)
        },
    ]

    static let endings = [
        Row("ended by choice", "churned 1, churned_voluntary 1") {
            $0.period(-5, 25)
            $0.off(at: 10)
        },
        Row("ended at the end of it", "new 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(0, 30)
            $0.off(at: 10)
        },
        Row("no consent to a price", "churned 1, churned_price_increase 1") {
            $0.period(-5, 25)
            $0.expire(3, at: 25)
        },
        Row("no longer for sale", "churned 1, churned_not_for_sale 1") {
            $0.period(-5, 25)
            $0.expire(4, at: 25)
        },
        Row("nothing more was heard", "churned 1, churned_other 1") { $0.period(-5, 25) },
        Row("in grace", "active 1, in_grace 1") {
            $0.period(-5, 25)
            $0.fail(graceUntil: 41, at: 25)
        },
        Row("grace recovered, without a break", "renewed 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(-25, 5)
            $0.fail(graceUntil: 21, at: 5)
            $0.period(12, 42, renewal: true)
        },
        Row("grace not recovered", "churned 1, churned_billing 1, in_billing_retry 1") {
            $0.period(-25, 5)
            $0.fail(graceUntil: 21, at: 5)
        },
        Row(
            "recovered after grace", "recovered 1, churned 1, churned_billing 1, renewed 1, active 1, paying 1",
            "monthly USD 10 (1), mrr 10"
        ) {
            $0.period(-25, 5)
            $0.fail(graceUntil: 10, at: 5)
            $0.period(20, 50, renewal: true)
        },
        Row("in billing retry", "churned 1, churned_billing 1, in_billing_retry 1") {
            $0.period(-25, 5)
            $0.fail(at: 4.5)
        },
        Row("given up", "churned 1, churned_billing 1") {
            $0.period(-25, 5)
            $0.fail(at: 4.5)
            $0.expire(2, at: 20)
        },
        Row("retried for 60 days", "") {
            $0.period(-70, -40)
            $0.fail(at: -40)
            $0.expire(2, at: 29)
        },
    ]

    static let money = [
        Row("a refund", "new 1, churned 1, churned_refund 1", "monthly USD 10 (1) - 10 (1)") {
            $0.period(1, 31)
            $0.refund(at: 3, percentage: 100_000)
        },
        Row(
            "a refund before the percentage was signed", "new 1, churned 1, churned_refund 1",
            "monthly USD 10 (1) - 10 (1)"
        ) {
            $0.period(1, 31)
            $0.refund(at: 3, type: nil)
        },
        Row(
            "a refund, and another product within its period",
            "new 1, resubscribed 1, churned 1, churned_refund 1, active 1, paying 1",
            "monthly USD 10 (1), mrr 10; yearly USD 60 (1) - 60 (1)"
        ) {
            $0.period(1, 366, "yearly", price: 60_000)
            $0.refund(at: 2)
            $0.period(9, 39)
        },
        Row(
            "a refund of an earlier period", "active 1, paying 1", "monthly USD 0 (0) - 10 (1), mrr 10"
        ) {
            $0.period(-35, -5)
            $0.period(-5, 35, renewal: true)
            $0.refund(0, at: 3)
        },
        Row("a refund later than it", "new 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(1, 41)
            $0.refund(at: 33)
        },
        Row(
            "a prorated refund, to the nearest milliunit", "new 1, churned 1, churned_refund 1",
            "monthly USD 9.99 (1) - 6.786 (1)"
        ) {
            $0.period(1, 31, price: 9_990)
            $0.refund(at: 10, type: "REFUND_PRORATED", percentage: 67_932)
        },
        Row("a prorated refund without its share", "new 1, churned 1, churned_refund 1", "monthly USD 10 (1) - 7 (1)") {
            $0.period(1, 31)
            $0.refund(at: 10, type: "REFUND_PRORATED")
        },
        Row("a refund that was reversed", "new 1, active 1, paying 1", "monthly USD 10 (1), mrr 10") {
            $0.period(1, 31)
            $0.refund(at: 3)
            $0.reverse(at: 5)
        },
        Row("a family share", "") {
            $0.isFamily = true
            $0.period(1, 31)
        },
        Row("a family share that ended", "") {
            $0.isFamily = true
            $0.period(1, 31)
            $0.refund(at: 10, type: "FAMILY_REVOKE")
        },
        Row("a thing bought once", "one_time_purchases 1", "coins USD 1.99 (1)") {
            $0.period(3, nil, "coins", price: 1_990, kind: "Consumable")
        },
        Row("three of a thing: the price is of all", "one_time_purchases 1", "coins USD 5.97 (1)") {
            $0.period(3, nil, "coins", price: 5_970, quantity: 3, kind: "Consumable")
        },
        Row("one of three goes back", "one_time_purchases 1", "coins USD 5.97 (1) - 1.99 (1)") {
            $0.period(3, nil, "coins", price: 5_970, quantity: 3, kind: "Consumable")
            $0.refund(at: 4, type: "REFUND_PRORATED", percentage: 33_333)
        },
        Row("a season", "one_time_purchases 1", "season EUR 20 (1)") {
            $0.currency = "EUR"
            $0.period(3, 200, "season", price: 20_000, kind: "Non-Renewing Subscription")
        },
        Row("no price", "new 1, active 1, paying 1", "monthly ? 0 (1)") { $0.period(1, 31, price: nil) },
        Row("a price without a currency", "new 1, active 1, paying 1", "monthly ? 0 (1)") {
            $0.currency = nil
            $0.period(1, 31)
        },
        Row("a refund of no price", "new 1, churned 1, churned_refund 1", "monthly ? 0 (1) - 0 (1)") {
            $0.period(1, 31, price: nil)
            $0.refund(at: 3)
        },
        Row("a share beyond all sense", "new 1, churned 1, churned_refund 1", "monthly USD 10 (1) - 10 (1)") {
            $0.period(1, 31)
            $0.refund(at: 3, percentage: .max)
        },
        Row("a week", "new 1, churned 1, churned_other 1", "weekly USD 2 (1)") {
            $0.period(1, 8, "weekly", price: 2_000)
        },
    ]

    @Test(arguments: beginnings + changes + endings + money)
    func `what each number is`(row: Row) throws {
        var subscriber = Subscriber()
        row.live(&subscriber)
        let report = try Report.of([subscriber])
        #expect(report.total.words == row.words)
        #expect(report.total.moneyWords == row.money)
    }

    @Test(
        arguments: [
            (7.0, 7_000, 30_438), (3, 7_000, 30_438), (28, 10_000, 10_000), (31, 10_000, 10_000), (45, 10_000, 10_000),
            (61, 10_000, 5_000), (91, 10_000, 3_333), (184, 10_000, 1_667), (366, 10_000, 833), (400, 10_000, 833),
        ] as [(Double, Int64, Int64)])
    func `a price is spread over the months of its period`(days: Double, price: Int64, monthly: Int64) throws {
        var subscriber = Subscriber()
        subscriber.period(30 - days / 2, 30 + days / 2, "any", price: price)
        let money = try #require(try Report.of([subscriber]).total.products.first?.1)
        #expect(money.monthly == monthly)
    }

    @Test func `thirds add up before they are rounded`() throws {
        let three = ["1", "2", "3"].map { id in
            var subscriber = Subscriber(id)
            subscriber.period(0, 91, "quarterly", price: 10_000)
            return subscriber
        }
        #expect(try Report.of(three).total.moneyWords == "quarterly USD 30 (3), mrr 10")
    }

    @Test func `currencies and environments are never added up`() throws {
        let sold = [("1", "USD"), ("2", "EUR"), ("3", "USD")].map { id, currency in
            var subscriber = Subscriber(id)
            subscriber.currency = currency
            subscriber.period(1, 31)
            return subscriber
        }
        let report = try Report.of(sold)
        #expect(report.total.moneyWords == "monthly EUR 10 (1), mrr 10; monthly USD 20 (2), mrr 20")
        var sandbox = Subscriber("9", environment: .sandbox)
        sandbox.period(1, 31)
        let spent = Spending((sold + [sandbox]).compactMap(\.purchase)).json.text
        #expect(
            spent == """
                [{"environment":"Production","currency":"EUR","payments":1,"paid":"10","refunds":0,"refunded":"0","net":"10"},\
                {"environment":"Production","currency":"USD","payments":2,"paid":"20","refunds":0,"refunded":"0","net":"20"},\
                {"environment":"Sandbox","currency":"USD","payments":1,"paid":"10","refunds":0,"refunded":"0","net":"10"}]
                """)
    }

    @Test func `what was granted is neither money nor a subscription`() throws {
        var granted = Subscriber("1", app: "$promotional")
        granted.period(1, 31)
        let report = try Report.of([granted])
        #expect(report.purchases == 0 && report.total.words == "" && report.total.moneyWords == "")
        #expect(Spending([try #require(granted.purchase)]).totals == [])
    }

    @Test func `no amount overflows`() throws {
        let rich = ["1", "2", "3"].map { id in
            var subscriber = Subscriber(id)
            subscriber.period(1, 8, price: .max)
            subscriber.refund(at: 2, percentage: 50_000)
            return subscriber
        }
        let money = try #require(try Report.of(rich, 0, 1.5).total.products.first?.1)
        #expect(money.gross == .max && money.monthly == .max && money.net == .max)
        let odd = try Report.of(
            [Int64.min, .max].map { date in
                var subscriber = Subscriber()
                subscriber.period(1, 31)
                subscriber.tell(0, at: 2) {
                    ($0.purchaseDate, $0.expiresDate, $0.revocationDate) = (~date, date, date)
                    $0.revocationType = "REFUND_PRORATED"
                }
                return subscriber
            })
        #expect(odd.purchases == 2)
    }
}
