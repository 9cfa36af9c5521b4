extension EventTable {
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

            Types of RevenueCat's that no endpoint gets, and why. `endpoints add --event` refuses them with these words.

            | Type | Why |
            | --- | --- |
            \(lines.joined(separator: "\n"))

            """
    }

    private static let introduction = """
        # Events

        What each of Apple's notifications becomes. Events come from the difference between what was known of a purchase
        before and after a notification; a row is what that comes to. The schemas beside this file describe the bodies.

        Beside an event stand the members that matter in its row: as JSON has them, or where they come from. `T` is the
        transaction of the notification, `R` its renewal info, `stored` the latest period before it. "Certain" is what
        Apple's or RevenueCat's documentation says; what is "inferred" was decided here, and the last column says why.

        Time alone ends access too: at the end of a period that will not renew, at the end of grace, and, after some
        patience, at the end of a period of which no renewal came. EXPIRATION is then told without a notification, and the
        notification that follows tells nothing more.

        What the seller grants is told in the same way, without a notification: NON_RENEWING_PURCHASE when it is given,
        CANCELLATION (DEVELOPER_INITIATED) and EXPIRATION (UNSUBSCRIBE) when it is taken back, EXPIRATION (UNSUBSCRIBE) when it
        ends by itself, which is inferred. Such events have the store PROMOTIONAL and no `app_id`.

        `is_trial_conversion` is true in one event for each run of trials that a customer paid on, whatever is heard first: in
        the RENEWAL of the period that cost money or, where that was told before its trial was known, in the event of the
        trial: an INITIAL_PURCHASE (or RENEWAL) with `period_type` TRIAL, which has that member then. Count the events where
        it is true, whatever their type. From one trial into another nothing is converted.

        `renewal_number` counts the periods that are known: 1 for the first of a subscription, 2 at least for any other, also
        where the ones before it were never heard of. Earlier periods that become known make later numbers greater. A
        number that was sent is never corrected: order by `purchased_at_ms`.

        Products that do not renew give access for ever, unless `products` in the configuration has a duration for them. Then
        NON_RENEWING_PURCHASE has its end as `expiration_at_ms`, and EXPIRATION (UNSUBSCRIBE) is told at the end; RevenueCat has
        neither. A duration that is set or changed later counts for earlier purchases too: events that were sent stay as
        they are, and new ends are told after `entitled rebuild`.

        A transaction that should have an end and has none that can be read tells nothing and gives nothing: the
        notification is held, and `entitled notifications list --state held` says why.

        This file is written from `Sources/Subscriptions/EventTable*.swift`, which the tests compare with what the
        program does. To write it again: `UPDATE_GENERATED=1 swift test --filter EventTableTests`.


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
