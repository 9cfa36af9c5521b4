import Base
import Database
import Markup
import Operator
import Subscriptions

/// Events: what was made, and one with its body and its deliveries.
enum EventPages {
    static let routes = [
        ConsoleRoute("GET", "/events") { call in try call.export("events") ?? .page(try list(call)) },
        ConsoleRoute("GET", "/events/ID") { call in .page(try event(call)) },
    ]

    private static func list(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.events(try call.question(EventsQuestion.self, of: "events")) }
        let path = ConsoleSection.events.path
        return Page(
            "Events", section: .events, hasEnvironment: true,
            command: call.command(
                "events list",
                [
                    "type": "--type", "app": "--app", "environment": "--environment", "customer": "--customer",
                    "purchase": "--purchase", "since": "--since", "until": "--until",
                ]), api: call.api("events")
        ) {
            Tag.h1 { "Events" }
            PageParts.filters(
                [
                    .init("type", "Type", .type), .init("app", "App", .app), .init("customer", "Customer", .customer),
                    .init("purchase", "Purchase", .purchase), .init("since", "Since", .since),
                    .init("until", "Until", .until),
                ], of: path, call)
            call.many([.resendEvents])
            PageParts.rows(
                "Events, the newest first", list, of: path, none: "No event was made yet.", call,
                [
                    Column("Event") { row in
                        Node.link(to: ConsolePath.event(row.id)) { Node.untrusted(row.type) }
                    },
                    Column("Id") { row in .identifier(row.id, shown: 14) },
                    Column("App", text: { $0.app }),
                    Column("Environment") { row in PageParts.badge(row.environment) },
                    Column("Purchase") { row in
                        purchase(row.originalTransactionID, app: row.app, row.environment, call)
                    },
                    Column("No.", isNumber: true, text: { $0.sequence.map(String.init) }),
                    Column("Made") { row in call.clock.time(row.created) },
                ])
        }
    }

    static func purchase(_ id: String?, app: String, _ environment: StoreEnvironment, _ call: PageCall) -> Node {
        id.map { id in
            PageParts.link(
                ConsolePath.purchase(PurchaseKey(app: app, environment: environment, originalTransactionID: id)),
                .purchases, call, .identifier(id, shown: 20))
        } ?? .none
    }

    private static func event(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let id = call.parameter("ID")
        let answer = try call.ask { try $0.event(id) }
        let event = answer.event
        return Page(
            event.type, section: .events, command: "events show \(PageCall.argument(event.id))",
            api: call.api("events", event.id)
        ) {
            PageParts.path(.events, call)
            Tag.h1 { Node.untrusted(event.type) }
            Tag.p(.classes(.lead)) {
                "Made "
                call.clock.time(event.created)
            }
            call.changes([.eventResend], of: ["id": event.id])
            Tag.h2 { "Event" }
            PageParts.facts([
                ("Id", .identifier(event.id, shown: 64)), ("App", .untrusted(event.app)),
                ("Environment", PageParts.badge(event.environment)),
                (
                    "Purchase",
                    event.originalTransactionID.map { purchase($0, app: event.app, event.environment, call) }
                ),
                ("Number", event.sequence.map { .text("\($0) of its purchase") }),
                ("Repeats", answer.repeats.map { id in Node.link(to: ConsolePath.event(id)) { Node.identifier(id) } }),
            ])
            if call.sees(.deliveries) {
                Tag.h2 { "Deliveries" }
                if answer.deliveries.isEmpty {
                    PageParts.empty("No endpoint takes this event.")
                } else {
                    PageParts.table(
                        "One for each endpoint", answer.deliveries, DeliveryPages.columns(call, ofEvent: true))
                }
            }
            body(answer.body)
        }
    }

    /// The bytes that a consumer gets.
    static func body(_ bytes: [UInt8]) -> Node {
        .group([
            Tag.h2 { "Body" }, bytes.isEmpty ? PageParts.empty("The body is not kept any more.") : payload(bytes),
        ])
    }

    /// JSON where the bytes are, else their text.
    static func payload(_ bytes: [UInt8]) -> Node {
        guard let json = try? JSON(parsing: bytes, deepest: 64) else {
            return .lines(String(decoding: bytes, as: UTF8.self), spoken: "Text")
        }
        return .json(json, spoken: "JSON")
    }
}
