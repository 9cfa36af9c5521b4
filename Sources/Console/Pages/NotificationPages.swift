import Base
import Database
import Markup
import Operator

/// Notifications: what Apple sent, and what became of it.
enum NotificationPages {
    static let routes = [
        ConsoleRoute("GET", "/notifications") { call in try call.export("notifications") ?? .page(try list(call)) },
        ConsoleRoute("GET", "/notifications/APP/ENV/UUID") { call in .page(try notification(call)) },
    ]

    private static func list(_ call: PageCall) throws -> Page {
        let list = try call.ask {
            try $0.notifications(try call.question(NotificationsQuestion.self, of: "notifications"))
        }
        let path = ConsoleSection.notifications.path
        return Page(
            "Notifications", section: .notifications, hasEnvironment: true,
            command: call.command(
                "notifications list",
                [
                    "state": "--state", "type": "--type", "app": "--app", "environment": "--environment",
                    "since": "--since", "until": "--until",
                ]), api: call.api("notifications")
        ) {
            Tag.h1 { "Notifications" }
            PageParts.filters(
                [
                    .init("state", "State", .state, .choice(NotificationState.allCases.map(\.rawValue))),
                    .init("type", "Type", .type), .init("app", "App", .app), .init("purchase", "Purchase", .purchase),
                    .init("source", "Source", .source, .choice(NotificationSourceName.allCases.map(\.rawValue))),
                    .init("since", "Since", .since), .init("until", "Until", .until),
                ], of: path, call)
            call.many([.reprocess])
            PageParts.rows(
                "Notifications, the newest first", list, of: path, none: "Nothing came from Apple yet.", call,
                columns(call))
        }
    }

    static func table(_ caption: String, _ rows: [NotificationRow], _ call: PageCall) -> Node {
        PageParts.table(caption, rows, columns(call))
    }

    private static func columns(_ call: PageCall) -> [Column<NotificationRow>] {
        [
            Column("Type") { row in
                Node.link(to: page(row)) {
                    Node.untrusted(row.subtype.map { "\(row.type) \($0)" } ?? row.type)
                }
            },
            Column("State") { row in badge(row.state) },
            Column("Why", text: { $0.hold?.reason }),
            Column("App", text: { $0.identity.app }),
            Column("Environment") { row in PageParts.badge(row.identity.environment) },
            Column("Purchase") { row in
                EventPages.purchase(
                    row.originalTransactionID, app: row.identity.app, row.identity.environment, call)
            },
            Column("Signed") { row in PageParts.time(row.signed, call) },
            Column("Received") { row in call.clock.time(row.received) },
        ]
    }

    private static func page(_ row: NotificationRow) -> LocalPath {
        ConsolePath.notification(
            app: row.identity.app, environment: row.identity.environment, uuid: row.identity.uuid)
    }

    private static func badge(_ state: NotificationState) -> Node {
        switch state.rawValue {
        case "held": PageParts.badge(state.rawValue, .warn)
        case "applied": PageParts.badge(state.rawValue, .good)
        default: PageParts.badge(state.rawValue)
        }
    }

    private static func notification(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        guard let environment = StoreEnvironment(rawValue: call.parameter("ENV")) else {
            throw DeskError.notFound("There is no environment \(call.parameter("ENV")).")
        }
        let name = NotificationName(app: call.parameter("APP"), environment: environment, uuid: call.parameter("UUID"))
        let whole = try call.ask { try $0.notification(name) }.whole
        let summary = whole.summary
        return Page(
            summary.type, section: .notifications,
            command: "notifications show \(PageCall.argument(summary.identity.uuid))",
            api: call.api("notifications", name.app, environment.rawValue, name.uuid)
        ) {
            PageParts.path(.notifications, call)
            Tag.h1 {
                Node.untrusted(summary.subtype.map { "\(summary.type) \($0)" } ?? summary.type)
                " "
                badge(summary.state)
            }
            if let hold = summary.hold { notice(hold, call) }
            call.changes(
                [.reprocess],
                of: [
                    "app": summary.identity.app, "environment": summary.identity.environment.rawValue,
                    "uuid": summary.identity.uuid,
                ])
            Tag.h2 { "Notification" }
            facts(summary, call)
            Tag.h2 { "Payload" }
            payload(whole)
        }
    }

    private static func notice(_ hold: NotificationSummary.Hold, _ call: PageCall) -> Node {
        Tag.div(.classes(.notice, .warn)) {
            Tag.p {
                "Held: "
                Node.untrusted(hold.reason)
                ". Tried \(hold.attempts) times; "
                if let next = hold.nextAttempt {
                    "next "
                    call.clock.time(next)
                } else {
                    "not again by itself"
                }
                "."
            }
        }
    }

    private static func facts(_ summary: NotificationSummary, _ call: PageCall) -> Node {
        PageParts.facts([
            ("UUID", .identifier(summary.identity.uuid, shown: 64)), ("App", .untrusted(summary.identity.app)),
            ("Environment", PageParts.badge(summary.identity.environment)),
            (
                "Purchase",
                summary.originalTransactionID.map {
                    EventPages.purchase($0, app: summary.identity.app, summary.identity.environment, call)
                }
            ),
            ("Signed", summary.signed.map { call.clock.time($0) }),
            ("Received", call.clock.time(summary.received)),
        ])
    }

    @MarkupBuilder private static func payload(_ whole: NotificationQuery.Whole) -> [Node] {
        if let gap = whole.gap {
            PageParts.empty(gap.capitalisedStart)
        } else {
            EventPages.payload(whole.payload)
        }
        if !whole.signedPayload.isEmpty {
            Tag.details(.classes(.card)) {
                Tag.summary { "As Apple signed it" }
                Node.lines(String(decoding: whole.signedPayload, as: UTF8.self), spoken: "Signed payload")
            }
        }
    }
}
