import Base
import Database
import HTTP
import Markup
import Operator

/// Outages: when no notification could be stored, and what Apple's history had of that time.
enum OutagePages {
    static let routes = [
        ConsoleRoute("GET", "/outages") { call in .page(try list(call)) },
        ConsoleRoute("GET", "/outages/NUMBER") { call in .page(try outage(call)) },
    ]

    private static let mostRows = 60

    private static func length(_ row: OutageRow) -> String { RelativeTime.text(row.until - row.from) }

    /// Those of the environment that the page shows.
    private static func coverage(_ row: OutageRow, _ call: PageCall) -> [OutageRow.Coverage] {
        row.coverage.filter { call.environment == nil || $0.environment == call.environment }
    }

    // MARK: - The list

    private static func list(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let (list, listened) = try call.ask { (try $0.outages(), try $0.lastListened()) }
        return Page(
            "Outages", section: .outages, hasEnvironment: true, command: "outages list", api: call.api("outages")
        ) {
            Tag.h1 { "Outages" }
            call.forms([.replayHistory])
            Tag.p(.classes(.lead)) {
                "More than five minutes in which no notification of Apple's could be stored, within the last 45 days."
            }
            if list.items.isEmpty {
                empty(listened, call)
            } else {
                PageParts.table(
                    "Outages, the newest first", Array(list.items.prefix(mostRows)),
                    [
                        Column("Began") { row in
                            Node.link(to: EnvironmentSwitch.carried(ConsolePath.outage(row.number), call)) {
                                call.clock.absolute(row.from)
                            }
                        },
                        Column("Lasted") { row in .text(length(row)) },
                        Column("Ended") { row in call.clock.time(row.until) },
                        Column("Apple's history of that time") { row in summary(row, call) },
                    ])
                if list.items.count > mostRows {
                    Tag.p(.classes(.more)) {
                        "The newest \(mostRows) of \(PageParts.grouped(Int64(list.items.count))); the API's answer has all."
                    }
                }
            }
        }
    }

    private static func empty(_ listened: Int64?, _ call: PageCall) -> Node {
        guard let listened else {
            return PageParts.empty(
                "No ingest process has used this database yet, so that nothing tells when notifications could be stored."
            )
        }
        return PageParts.empty(
            "Within 45 days there was none.",
            Tag.p {
                "Notifications could be stored last "
                call.clock.time(listened)
                "."
            })
    }

    private static func summary(_ row: OutageRow, _ call: PageCall) -> Node {
        let all = coverage(row, call)
        let missing = all.filter { !row.isCovered($0) }
        guard !all.isEmpty else { return Tag.span(.classes(.quiet)) { "no app is configured" } }
        guard !missing.isEmpty else { return PageParts.badge("scanned", .good) }
        return PageParts.badge(
            missing.count == all.count ? "not scanned" : "\(missing.count) of \(all.count) not scanned",
            .warn)
    }

    // MARK: - One

    private static func outage(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        guard let number = Int64(call.parameter("NUMBER")) else {
            throw DeskError.notFound("\(call.parameter("NUMBER")) is not the number of an outage.")
        }
        let answer = try call.ask { try $0.outage(number) }
        let row = answer.row
        return Page(
            "Outage", section: .outages, hasEnvironment: true,
            command: commands(row, call).joined(separator: "\nentitled "), api: call.api("outages", String(number))
        ) {
            PageParts.path(.outages, call)
            Tag.h1 { "Outage of \(length(row))" }
            Tag.p(.classes(.lead)) {
                "From "
                call.clock.absolute(row.from)
                " to "
                call.clock.time(row.until)
                ". Apple sends again for days what it could not deliver, and keeps a history of all that it sent."
            }
            covered(row, call)
            found(answer, call)
            events(answer, call)
        }
    }

    /// Each looks through Apple's history of that time again.
    private static func commands(_ row: OutageRow, _ call: PageCall) -> [String] {
        coverage(row, call).map { item in
            "replay history --app \(PageCall.quoted(item.app)) --environment \(item.environment.rawValue)"
                + " --from \(Timestamp.text(row.from)) --to \(Timestamp.text(row.until))"
        }
    }

    private static func covered(_ row: OutageRow, _ call: PageCall) -> Node {
        .group([
            Tag.h2 { "Apple's history of that time" },
            coverage(row, call).isEmpty
                ? PageParts.empty("No app of this environment is configured.")
                : PageParts.table(
                    "How far it was scanned", coverage(row, call),
                    [
                        Column("App", text: { $0.app }),
                        Column("Environment") { PageParts.badge($0.environment) },
                        Column("State") { item in
                            row.isCovered(item)
                                ? PageParts.badge("to the end", .good) : PageParts.badge("not to the end", .warn)
                        },
                        Column("Scanned to") { item in
                            item.covered.map { call.clock.time($0) }
                                ?? Tag.span(.classes(.quiet)) { "never: it needs the app's server_api" }
                        },
                        Column("Actions") { item in
                            call.forms(
                                [.outageLook],
                                [
                                    "outage": String(row.number), "app": item.app,
                                    "environment": item.environment.rawValue,
                                ])
                        },
                    ]),
        ])
    }

    /// What was made of it, and which of that no endpoint got.
    private static func events(_ answer: OutageAnswer, _ call: PageCall) -> Node {
        guard call.sees(.events) else { return .none }
        return .group([
            Tag.h2 { "Events" },
            Tag.p(.classes(.lead)) {
                "About the purchases of what was found, until now: \(PageParts.grouped(answer.events.sent)) sent,"
                    + " \(PageParts.grouped(answer.events.withheld)) withheld from all endpoints. Events about what is older than seven days are stored"
                    + " and not sent."
            },
            answer.lacking.isEmpty
                ? PageParts.empty("No endpoint lacks any of these events.")
                : PageParts.table(
                    "Those of these events that an endpoint takes and never had", answer.lacking,
                    [
                        Column("Endpoint") { row in
                            PageParts.link(
                                ConsolePath.endpoint(row.endpoint), .endpoints, call,
                                .identifier(row.endpoint, shown: 24))
                        },
                        Column("Lacks", isNumber: true) { row in
                            .text(PageParts.grouped(row.events) + (row.isComplete ? "" : "+"))
                        },
                        Column("Actions") { row in
                            call.forms(
                                [.replayWebhooks],
                                [
                                    "endpoint": row.endpoint, "mode": "missing",
                                    "outage": String(answer.row.number),
                                ])
                        },
                    ]),
            answer.uncountedEndpoints == 0
                ? .none
                : Tag.p(.classes(.more)) {
                    "There are \(PageParts.grouped(Int64(answer.uncountedEndpoints))) more endpoints, which were not counted."
                },
        ])
    }

    private static func found(_ answer: OutageAnswer, _ call: PageCall) -> Node {
        let row = answer.row
        let rows = answer.found.filter {
            call.environment == nil || $0.identity.environment == call.environment
        }
        let states = NotificationState.allCases.compactMap { state -> String? in
            let number = rows.count(where: { $0.state == state })
            return number == 0 ? nil : "\(PageParts.grouped(Int64(number))) \(state.rawValue)"
        }
        let days = DatabaseDesk.searchedFor / 86_400_000
        return .group([
            Tag.h2 { "What was found in it" },
            rows.isEmpty
                ? PageParts.empty(
                    "No notification that Apple signed in that time was found in its history within \(days) days after it.",
                    Tag.p {
                        coverage(row, call).allSatisfy { row.isCovered($0) }
                            ? "The history was scanned: nothing was missed, or Apple sent it again."
                            : "The history was not scanned to the end of that time: there may be some."
                    })
                : .group([
                    Tag.p(.classes(.lead)) {
                        "\(PageParts.grouped(Int64(rows.count))) \(rows.count == 1 ? "notification" : "notifications"): \(states.joined(separator: ", "))."
                    },
                    NotificationPages.table("What was missed, the newest first", Array(rows.prefix(50)), call),
                ]),
            Tag.div(.classes(.more)) {
                if let instant = answer.lookedBackTo {
                    Tag.span {
                        "Looked back to "
                        call.clock.absolute(instant)
                        "; there may be more."
                    }
                }
                if answer.isCut || rows.count > 50 { Tag.span { "There are more than stand here." } }
                PageParts.link(
                    EnvironmentSwitch.carried(
                        ConsoleSection.notifications.path.with("source", "history")
                            .with("since", Timestamp.text(row.from)), call), .notifications, call,
                    .text("All that came from Apple's history since then"))
            },
        ])
    }
}
