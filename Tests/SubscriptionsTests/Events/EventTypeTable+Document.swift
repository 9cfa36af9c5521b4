import Subscriptions

extension EventTypeTable {
    /// The table as Markdown: `schemas/events/README.md`.
    package static var document: String {
        let heading = ["#", "Notification", "Condition", "Events", "Basis", "Decision"]
        let lines = [line(heading), line(heading.map { _ in "---" })] + rows.map { line(cells($0)) }
        return introduction + lines.joined(separator: "\n") + "\n" + absences
    }

    private static var absences: String {
        let lines = AbsentEvent.all.map { line(["`\($0.type)`", $0.reason]) }
        return """

            ## Never sent

            RevenueCat's event types that are never sent, and why. `endpoints add --event` rejects them with these words.

            | Type | Why |
            | --- | --- |
            \(lines.joined(separator: "\n"))

            """
    }

    /// The rules of money, as `Webhooks.md` has them too.
    package static let moneyRules = """
        | what happened | event | `price_in_purchased_currency` |
        |---|---|---|
        | a paid purchase or renewal | INITIAL_PURCHASE, RENEWAL, NON_RENEWING_PURCHASE | the transaction's price as Apple signed it: for the whole quantity, with its offer |
        | a free transaction: a trial, or a purchase shared by the family | the same | 0, whatever price or currency was signed |
        | a transaction without a signed price, if no app sent one either | the same | null: it cannot be added up |
        | a refund of the latest period, or of a one-time purchase | CANCELLATION (CUSTOMER_SUPPORT) | minus the price times `revocationPercentage`, to the nearest thousandth; without a percentage the whole price, or the share of the remaining time if the refund is prorated |
        | Apple corrects the amount of a refund that was sent | CANCELLATION (CUSTOMER_SUPPORT) once more | minus the additional refund; positive if the refund is smaller now |
        | such a refund is reversed, or a later period becomes known that had begun by its date | REFUND_REVERSED | the amount that was sent as refunded |
        | a refund of an earlier period, or of one that an upgrade replaced | none | only `entitled report` subtracts it |
        | anything else | | 0 |

        Over all events of a purchase these amounts add up to what the customer paid, less the refunds that were sent, in whatever
        order and however often Apple's notifications and the posts of apps arrive. `entitled report`, the customer's document and
        `customers show` compute each payment and refund in the same way; a price that only an app sent is in none of their sums,
        and in none of charts, exports and views. `price` is the same amount in US dollars, by the `webhooks.usd_rates` in force
        when the event is made; it is null without a rate, and 0 is 0 in every currency.
        `commission_percentage` is Apple's share of the price: `apps[].commission` of the price without taxes; where that is not
        set, Apple's standard: 0.3, for subscriptions 0.15 after a year of paid service. `tax_percentage` is the share of
        the customer's country in `reports.tax`, else 0. `takehome_percentage` is 1 - `commission_percentage`, before taxes,
        and the proceeds are the price times (1 - `tax_percentage` - `commission_percentage`), as RevenueCat defines them.
        """

    private static let owners = """
        ## Owners

        | what happened | event | members |
        |---|---|---|
        | a purchase whose events have named a customer goes to another customer | TRANSFER, one for each pair of customers, when it becomes known | `transferred_from`, `transferred_to`: all ids of both; request the current state of each |
        | two customers turn out to be one, and one of them was anonymous | SUBSCRIBER_ALIAS, only to endpoints that ask for it | `aliases`: all ids of the customer; `app_user_id`: the one that was used last |
        | a purchase is signed without a token | its first event, when the app's post names the buyer or `apps[].owner_wait` is over; later events of the purchase follow it | the buyer, else an anonymous customer |
        | anything else | the events below | the owner when the event is made |

        No TRANSFER is sent for customers that became one, for deleted customers, and for purchases without earlier events. A late
        notification may move a purchase and a later one may move it back: each move is sent, so that the last event about access
        is right.
        """

    private static let introduction = """
        # Events

        This page lists the events that each of Apple's notifications makes. Events are derived from the difference between the
        state of a purchase before and after a notification; a row is the result. The schemas beside this file describe the bodies.

        Each row names the members of the event that matter in it, with their JSON value or their source. `T` is the
        transaction of the notification, `R` its renewal info, `stored` the latest period before it. "Certain" rows follow
        Apple's or RevenueCat's documentation; "inferred" rows were decided here, and the last column gives the reason.

        Time alone ends access too: at the end of a period that will not renew, at the end of the grace period, and, after some
        patience, at the end of a period without a known renewal. EXPIRATION is then sent without a notification, and the
        notification that follows makes no further event.

        The seller's grants make events without a notification, too: NON_RENEWING_PURCHASE when a grant is given,
        CANCELLATION (DEVELOPER_INITIATED) and EXPIRATION (UNSUBSCRIBE) when it is revoked, EXPIRATION (UNSUBSCRIBE) when it
        ends by itself, which is inferred. Such events have the store PROMOTIONAL and no `app_id`.

        `is_trial_conversion` is true in one event for each run of trials that a customer paid on, whatever arrives first: in
        the RENEWAL of the period that cost money or, if that was sent before its trial was known, in the event of the
        trial: an INITIAL_PURCHASE (or RENEWAL) with `period_type` TRIAL, which has that member then. Count the events in which
        it is true, whatever their type. From one trial into another nothing is converted.

        `renewal_number` counts the known periods: 1 for the first of a subscription, at least 2 for any other, even if the
        ones before it are unknown. Earlier periods that become known make later numbers greater. A number that was sent is never
        corrected: order by `purchased_at_ms`.

        Products that do not renew give permanent access, unless `products` in the configuration has a duration for them. Then
        NON_RENEWING_PURCHASE has its end as `expiration_at_ms`, and EXPIRATION (UNSUBSCRIBE) is sent at the end; RevenueCat has
        neither. A duration that is set or changed later applies to earlier purchases too: events that were sent stay as
        they are, and new ends are sent after `entitled rebuild`.

        A transaction that should have an end, and has none that can be read, makes no event and gives no access: the
        notification is held, and `entitled notifications list --state held` gives the reason.

        `app_user_id` is the id of the customer that an app or a backend used last: by `GET` or `POST` of
        `/v1/subscribers/{app_user_id}`, by a receipt, `identify` or `alias`. A named id comes before every anonymous
        one, and an id that was used before one that never was. If none was used, it is the named id that was given last, else
        the one that owns the purchase. `aliases` has all ids of the customer, `original_app_user_id` is the first one.

        This file is written from `Tests/SubscriptionsTests/Events/EventTypeTable*.swift`, which the tests compare with the
        program. To write it again: `UPDATE_GENERATED=1 swift test --filter EventTypeTableTests`.

        ## Money

        \(moneyRules)

        \(owners)

        ## Notifications


        """

    private static func cells(_ row: Row) -> [String] {
        let notification = ([row.notificationType] + (row.subtype.map { [$0] } ?? [])).joined(separator: " / ")
        let events = row.outcomes.map(text).joined(separator: "<br>")
        return [
            String(row.number), notification == "any" ? notification : "`\(notification)`", row.condition,
            events.isEmpty ? "none" : events, row.certainty.rawValue, row.decision,
        ]
    }

    private static func text(_ outcome: Outcome) -> String {
        let members = outcome.members.map { "`\($0)` \($1)" }.joined(separator: ", ")
        return "**\(outcome.name)**" + (members.isEmpty ? "" : ": \(members)")
    }

    private static func line(_ cells: [String]) -> String {
        "| " + cells.map { $0.split(separator: "|").joined(separator: "\\|") }.joined(separator: " | ") + " |"
    }
}
