/// What each number of a report is, exactly enough to reckon it again. The help of `entitled report` shows it.
package enum ReportDefinitions {
    package static let gross =
        "What customers paid, as Apple signed it, by purchase date: taxes included, before Apple's commission,"
        + " which no signed data has. Apple's own financial reports are authoritative."

    package static let mrr =
        "The sum of the prices of paid subscription periods that run at the end, each divided by the months of its"
        + " period: 1, 2, 3, 6 or 12, whichever is nearest; a week is 7 / 30.4375 of a month. Introductory and offer"
        + " prices count as they are, trials, grace and billing retry as nothing; a subscription whose renewal is off"
        + " counts until it ends."
        + " Rounded to a thousandth for each product and currency."

    package static let all: [(name: String, meaning: String)] = [
        (
            "in general",
            "Times are UTC; a part includes its beginning and excludes its end. Everything is dated as Apple signed"
                + " it, as known now: data that arrive late change past reports. Family sharing and grants are"
                + " neither counted nor money. A trial is a period that any offer makes free."
        ),
        (
            "access",
            "A subscription gives access from a period's purchase date until it ends, is refunded, or gives way to an upgrade,"
                + " and during grace. A renewal within an hour after the end continues it without a break."
        ),
        ("new", "Access began with the first period of an original transaction id."),
        ("taken_over", "Access began with the first period known here, of a subscription that is older."),
        ("resubscribed", "Access began again by a purchase."),
        ("recovered", "Access began again by a renewal: a charge that Apple made good after access had ended."),
        (
            "churned",
            "Access ended, by expiry, by the end of grace or by a refund. active at the end = active before + new +"
                + " taken_over + resubscribed + recovered - churned."
        ),
        (
            "churned_…",
            "Why, by Apple's expirationIntent: voluntary 1, billing 2 (or a charge that failed), price_increase 3, not_for_sale"
                + " 4, other the rest; without one voluntary if renewal was off, else other. refund if a refund ended access."
                + " trials: those whose last period was a trial."
        ),
        ("trials_started", "Trial periods that began."),
        ("trial_conversions", "Paid periods right after a trial period; they are not in renewed."),
        (
            "renewed",
            "Paid periods that Apple charged as renewals, other than conversions; recovered ones are among them."
        ),
        ("upgraded", "Periods that another purchase replaced before their end."),
        ("one_time_purchases", "Transactions of products that do not renew, free or not."),
        ("payments, gross", gross),
        (
            "refunds, refunded",
            "Refunds that were not reversed, by their revocation date, which may be long after the payment: the price times"
                + " revocationPercentage, to the nearest thousandth of the unit. Without a percentage, the whole"
                + " price; for a prorated refund, and that of an upgraded period, the share of the time that was"
                + " left. A refund for an upgrade that Apple does not sign is unknown, and not subtracted."
        ),
        ("net", "gross - refunded."),
        (
            "no currency",
            "Transactions without a price, which Apple signs since 2023, or with one that an app posted: they have a number and no"
                + " amounts."
        ),
        ("active", "At the last instant: subscriptions that give access. It is paying + in_trial + in_grace."),
        ("in_billing_retry", "At the last instant: no access, and Apple still tries to charge, for up to 60 days."),
        ("mrr", mrr + " In the sandbox it means little, because periods are shortened."),
    ]
}
