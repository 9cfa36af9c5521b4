import Subscriptions
import Testing

/// The table of Apple's notifications and the events they make, row by row.
struct MappingTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        /// What happened before, without being looked at.
        let past: @Sendable (inout Life) -> Void
        /// What is heard.
        let event: @Sendable (inout Life) -> Telling
        let expected: [String]

        init(
            _ name: String, _ past: @escaping @Sendable (inout Life) -> Void = { _ in },
            then event: @escaping @Sendable (inout Life) -> Telling, gives expected: [String]
        ) {
            (self.name, self.past, self.event, self.expected) = (name, past, event, expected)
        }

        var testDescription: String { name }
    }

    @Sendable private static func started(_ life: inout Life) { _ = life.start() }
    @Sendable private static func onTrial(_ life: inout Life) { _ = life.start(lasts: 7 * day, offer: .trial) }
    @Sendable private static func inGrace(_ life: inout Life) {
        _ = life.start()
        _ = life.billingFailure(graceUntil: life.expires + 6 * day, at: life.expires)
    }
    @Sendable private static func inRetry(_ life: inout Life) {
        _ = life.start()
        _ = life.billingFailure(at: life.expires)
    }
    @Sendable private static func off(_ life: inout Life) {
        _ = life.start()
        _ = life.autoRenewOff(at: epoch + day)
    }

    static let rows: [Row] = [
        Row("1 trial", then: { $0.start(offer: .trial) }, gives: ["INITIAL_PURCHASE"]),
        Row("2 introductory price", then: { $0.start(offer: .intro) }, gives: ["INITIAL_PURCHASE"]),
        Row("3 no offer", then: { $0.start() }, gives: ["INITIAL_PURCHASE"]),
        Row("4 offer code", then: { $0.start(offer: .code) }, gives: ["INITIAL_PURCHASE"]),
        Row(
            "6 resubscribed",
            {
                off(&$0)
                _ = $0.expire(at: $0.expires)
            }, then: { $0.resubscribe(at: $0.expires + day) }, gives: ["RENEWAL"]),
        Row("8 renewed", started, then: { $0.renew(at: $0.expires) }, gives: ["RENEWAL"]),
        Row("9 converted", onTrial, then: { $0.renew(at: $0.expires) }, gives: ["RENEWAL"]),
        Row(
            "10 downgrade took effect",
            {
                started(&$0)
                _ = $0.downgrade(to: "basic_monthly", price: 1, at: epoch + day)
            }, then: { $0.renew(at: $0.expires) }, gives: ["RENEWAL"]),
        Row(
            "11 recovered in grace", inGrace, then: { $0.renew(at: $0.expires + day, recovery: true) },
            gives: ["RENEWAL"]),
        Row(
            "11 recovered later", inRetry, then: { $0.renew(at: $0.expires + day, recovery: true) },
            gives: ["RENEWAL"]),
        Row("12 off", started, then: { $0.autoRenewOff(at: epoch + day) }, gives: ["CANCELLATION(UNSUBSCRIBE)"]),
        Row("12 off twice", off, then: { $0.autoRenewOff(at: epoch + 2 * day) }, gives: []),
        Row("13 off in grace", inGrace, then: { $0.autoRenewOff(at: $0.expires + day) }, gives: []),
        Row(
            "13 off after a refund",
            {
                started(&$0)
                _ = $0.refund(at: epoch + day)
            }, then: { $0.autoRenewOff(at: epoch + 2 * day) }, gives: []),
        Row("14 on", off, then: { $0.autoRenewOn(at: epoch + 2 * day) }, gives: ["UNCANCELLATION"]),
        Row(
            "15 on after an end that no timer noticed", off, then: { $0.autoRenewOn(at: $0.expires + hour) },
            gives: ["EXPIRATION(UNSUBSCRIBE)"]),
        Row(
            "16 upgrade", started, then: { $0.upgrade(to: "pro_yearly", price: 1, at: epoch + day) },
            gives: ["PRODUCT_CHANGE", "RENEWAL"]),
        Row(
            "17 downgrade", started, then: { $0.downgrade(to: "basic_monthly", price: 1, at: epoch + day) },
            gives: ["PRODUCT_CHANGE"]),
        Row(
            "18 downgrade taken back",
            {
                started(&$0)
                _ = $0.downgrade(to: "basic_monthly", price: 1, at: epoch + day)
            }, then: { $0.keepPlan(at: epoch + 2 * day) }, gives: []),
        Row(
            "19 offer for the same product", started, then: { $0.notify("OFFER_REDEEMED", at: epoch + day) },
            gives: []),
        Row(
            "22 failed, grace", started,
            then: { $0.billingFailure(graceUntil: $0.expires + 6 * day, at: $0.expires) },
            gives: ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)"]),
        Row(
            "23 failed, no grace", started, then: { $0.billingFailure(at: $0.expires) },
            gives: ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)", "EXPIRATION(BILLING_ERROR)"]),
        Row(
            "24 grace over", inGrace, then: { $0.graceOver(at: $0.expires + 6 * day) },
            gives: ["EXPIRATION(BILLING_ERROR)"]),
        Row("25 expired", off, then: { $0.expire(at: $0.expires) }, gives: ["EXPIRATION(UNSUBSCRIBE)"]),
        Row("27 retries ended", inRetry, then: { $0.expire("BILLING_RETRY", at: $0.expires + 60 * day) }, gives: []),
        Row(
            "28 price refused", started, then: { $0.expire("PRICE_INCREASE", at: $0.expires) },
            gives: ["EXPIRATION(PRICE_INCREASE)"]),
        Row(
            "29 not for sale", started, then: { $0.expire("PRODUCT_NOT_FOR_SALE", at: $0.expires) },
            gives: ["EXPIRATION(UNKNOWN)"]),
        Row("30 other reason", started, then: { $0.expire(nil, at: $0.expires) }, gives: ["EXPIRATION(UNKNOWN)"]),
        Row(
            "31 consent asked", started, then: { $0.askConsent(at: epoch + day) },
            gives: ["PRICE_INCREASE_CONSENT_REQUIRED"]),
        Row(
            "32 consent given",
            {
                started(&$0)
                _ = $0.askConsent(at: epoch + day)
            }, then: { $0.giveConsent(at: epoch + 2 * day) }, gives: ["PRICE_INCREASE_CONSENT_APPROVED"]),
        Row(
            "33 refund", started, then: { $0.refund(at: epoch + day) },
            gives: ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"]),
        Row(
            "34 refund of an earlier period",
            {
                started(&$0)
                _ = $0.renew(at: $0.expires)
            }, then: { $0.refund(0, at: $0.expires - day) }, gives: []),
        Row(
            "35 refund of an upgraded period",
            {
                started(&$0)
                _ = $0.upgrade(to: "pro_yearly", price: 1, at: epoch + day)
            }, then: { $0.refund(0, at: epoch + 2 * day) }, gives: []),
        Row(
            "36 refund of a one-time purchase", { _ = $0.buyOnce("coins_100", at: epoch) },
            then: { $0.refund(at: epoch + day) }, gives: ["CANCELLATION(CUSTOMER_SUPPORT)"]),
        Row("37 refund declined", started, then: { $0.notify("REFUND_DECLINED", at: epoch + day) }, gives: []),
        Row(
            "38 refund reversed",
            {
                started(&$0)
                _ = $0.refund(at: epoch + day)
            }, then: { $0.refundReversed(at: epoch + 2 * day) }, gives: ["REFUND_REVERSED"]),
        Row("39 consumption request", started, then: { $0.notify("CONSUMPTION_REQUEST", at: epoch + day) }, gives: []),
        Row("40 extended", started, then: { $0.extend(by: day, at: epoch + day) }, gives: ["SUBSCRIPTION_EXTENDED"]),
        Row(
            "43 one-time purchase", then: { $0.buyOnce("coins_100", at: epoch) }, gives: ["NON_RENEWING_PURCHASE"]),
        Row("46 metadata", started, then: { $0.notify("METADATA_UPDATE", at: epoch + day) }, gives: []),
        Row(
            "off, heard of first", { _ in },
            then: {
                _ = $0.start()
                return $0.autoRenewOff(at: epoch + day)
            }, gives: ["INITIAL_PURCHASE", "CANCELLATION(UNSUBSCRIBE)"]),
    ]

    @Test(arguments: rows)
    func `a notification makes the events of its row`(row: Row) {
        var life = Life()
        row.past(&life)
        var story = Story(life.key)
        for telling in life.tellings { _ = story.hear(telling) }
        #expect(story.hear(row.event(&life)).names == row.expected)
    }

    @Test func `a one-time purchase shared by the family that is taken back is an expiration`() {
        var life = Life(isFamily: true)
        var story = Story(life.key)
        _ = story.hear(life.buyOnce("pro_lifetime", kind: "Non-Consumable", at: epoch))
        #expect(story.hear(life.familyRevoke(at: epoch + day)).names == ["EXPIRATION(UNKNOWN)"])
    }

    @Test func `an old notification changes nothing and tells nothing`() {
        var life = Life()
        _ = life.start()
        let off = life.autoRenewOff(at: epoch + day)
        _ = life.autoRenewOn(at: epoch + 2 * day)
        var story = Story(life.key)
        for telling in life.tellings where telling.notification.uuid != off.notification.uuid {
            _ = story.hear(telling)
        }
        let before = story.purchase
        #expect(story.hear(off).isEmpty)
        #expect(story.purchase == before)
    }
}
