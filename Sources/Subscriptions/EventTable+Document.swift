extension EventTable {
    /// The table as Markdown: `schemas/events/README.md`.
    package static var document: String {
        let heading = ["#", "Notification", "Condition", "Events", "Basis", "Decision"]
        let lines = [line(heading), line(heading.map { _ in "---" })] + rows.map { line(cells($0)) }
        return introduction + lines.joined(separator: "\n") + "\n"
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

        `app_user_id` is the id of the customer that an app or a backend used last: by `GET` or `POST` of
        `/v1/subscribers/{app_user_id}`, by a receipt, `identify` or `alias`. An id that names a person comes before every anonymous
        one, and an id that was used before one that never was. Where none was used it is the named id that was given last, else
        the one that owns the purchase. `aliases` has all ids of the customer, `original_app_user_id` is the first one.

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
