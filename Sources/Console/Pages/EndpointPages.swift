import Base
import Database
import Markup
import Operator

/// Endpoints: where events go, and how the consumers are doing.
enum EndpointPages {
    static let routes = [
        ConsoleRoute("GET", "/endpoints") { call in .page(try list(call)) },
        ConsoleRoute("GET", "/endpoints/ID") { call in .page(try endpoint(call)) },
    ]

    private static func list(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let list = try call.ask { try $0.endpoints() }
        return Page("Endpoints", section: .endpoints, command: "endpoints list", api: call.api("endpoints")) {
            Tag.h1 { "Endpoints" }
            call.changes([.endpointAdd], of: [:])
            PageParts.rows(
                "Where events are sent", list, of: ConsoleSection.endpoints.path,
                none: "No endpoint yet: entitled endpoints add URL", hasFile: false, call,
                [
                    Column("Endpoint") { row in
                        Node.link(to: ConsolePath.endpoint(row.endpoint.id)) {
                            Node.identifier(row.endpoint.id, shown: 24)
                        }
                    },
                    Column("URL") { row in .untrusted(row.url) },
                    Column("State") { row in badge(row.health.word) },
                    Column("Since") { row in row.health.failingSince.map { call.clock.time($0) } ?? .none },
                    Column("Last success") { row in row.health.lastSuccess.map { call.clock.time($0) } ?? .none },
                    Column("p50", isNumber: true, text: { row in row.latency.map { milliseconds($0.answered.p50) } }),
                    Column("p95", isNumber: true, text: { row in row.latency.map { milliseconds($0.answered.p95) } }),
                    Column("Of", isNumber: true, text: { row in row.latency.map { PageParts.grouped($0.deliveries) } }),
                    Column("Environments", text: { row in all(row.endpoint.environments.map(\.rawValue)) }),
                    Column("Events", text: { row in all(row.endpoint.events) }),
                    Column("Added") { row in call.clock.time(row.endpoint.created) },
                ])
        }
    }

    private static func all(_ names: [String]) -> String {
        if names.isEmpty { return "all" }
        return names.count > 3 ? "\(names.count) types" : names.joined(separator: ", ")
    }

    private static func badge(_ word: String) -> Node {
        switch word {
        case "ok": PageParts.badge(word, .good)
        case "failing": PageParts.badge(word, .bad)
        case "disabled": PageParts.badge(word, .warn)
        default: PageParts.badge(word)
        }
    }

    private static func endpoint(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let answer = try call.ask { try $0.endpoint(call.parameter("ID")) }
        let endpoint = answer.endpoint
        return Page(
            endpoint.id, section: .endpoints, command: "endpoints show \(PageCall.argument(endpoint.id))",
            api: call.api("endpoints", endpoint.id)
        ) {
            PageParts.path(.endpoints, call)
            Tag.h1 {
                Node.identifier(endpoint.id, shown: 48)
                " "
                badge(answer.row.health.word)
            }
            Tag.p(.classes(.lead)) { Node.untrusted(answer.row.url) }
            Tag.p(.classes(.lead)) {
                Node.untrusted(answer.row.health.text(Timestamp.text).capitalisedStart + ".")
            }
            Tag.div(.classes(.cards)) {
                backlog("pending", answer.pending, nil, endpoint, call)
                backlog("held", answer.held, .warn, endpoint, call)
                Tag.section(.classes(.card)) {
                    Tag.h2 { "Waiting for an earlier event" }
                    Tag.p(.classes(.figure)) { PageParts.count(answer.blocked) }
                }
                Tag.section(.classes(.card)) {
                    Tag.h2 { "Given up" }
                    Tag.p {
                        PageParts.link(
                            ConsoleSection.deliveries.path.with("endpoint", endpoint.id).with("state", "dead"),
                            .deliveries, call, .text("Dead deliveries"))
                    }
                }
            }
            if let latency = answer.latency {
                Tag.h2 { "Latency" }
                PageParts.facts([
                    ("Answers", .text(text(latency.answered))),
                    ("From making to arrival", .text(text(latency.delivered))),
                    (
                        "Measured",
                        .group([
                            .text("the newest \(latency.deliveries) that arrived, since "),
                            call.clock.time(latency.since),
                        ])
                    ),
                ])
            }
            call.changes(
                (endpoint.isEnabled ? [.endpointTest, .endpointPause, .endpointDisable] : [.endpointEnable])
                    + [.endpointChange, .endpointRotateSecret] + (endpoint.isOperations ? [] : [.endpointRemove]),
                of: ["id": endpoint.id])
            Tag.h2 { "Settings" }
            settings(answer, call)
        }
    }

    private static func text(_ value: EndpointLatency.Percentiles) -> String {
        "p50 \(milliseconds(value.p50)), p95 \(milliseconds(value.p95))"
    }

    private static func milliseconds(_ value: Int64) -> String { "\(PageParts.grouped(value)) ms" }

    private static func backlog(
        _ state: String, _ count: CappedCount, _ kind: StyleClass?, _ endpoint: Endpoint, _ call: PageCall
    ) -> Node {
        let isMarked = count.value > 0 && kind != nil
        return Tag.section(isMarked ? kind.map { .classes(.card, $0) } : .classes(.card)) {
            Tag.h2 { state.capitalisedStart }
            Tag.p(.classes(.figure)) {
                PageParts.link(
                    ConsoleSection.deliveries.path.with("endpoint", endpoint.id).with("state", state), .deliveries,
                    call,
                    .text(PageParts.count(count)))
            }
        }
    }

    private static func settings(_ answer: EndpointAnswer, _ call: PageCall) -> Node {
        let endpoint = answer.endpoint
        return PageParts.facts([
            ("Events", .untrusted(endpoint.events.isEmpty ? "all" : endpoint.events.joined(separator: ", "))),
            (
                "Except",
                endpoint.exceptedEvents.isEmpty ? nil : .untrusted(endpoint.exceptedEvents.joined(separator: ", "))
            ),
            ("Environments", .untrusted(all(endpoint.environments.map(\.rawValue)))),
            ("Apps", .untrusted(endpoint.apps.isEmpty ? "all" : endpoint.apps.joined(separator: ", "))),
            ("Order", .text(endpoint.ordering.rawValue)),
            ("Disabled", PageParts.text(endpoint.disabledReason)),
            ("Authorization", .text(endpoint.hasAuthorization ? "set" : "none")),
            ("Headers", endpoint.headerNames.isEmpty ? nil : .untrusted(endpoint.headerNames.joined(separator: ", "))),
            (
                "Attempts",
                .text(
                    "\(answer.settings.schedule.attempts), with "
                        + answer.settings.schedule.waits.map { Duration.milliseconds($0).text }.joined(separator: ", ")
                        + " between them")
            ),
            (
                "Secrets",
                .group(
                    answer.settings.live.secrets.map { secret in
                        Tag.div {
                            "made "
                            call.clock.time(secret.created)
                            if let expires = secret.expires {
                                ", works until "
                                call.clock.time(expires)
                            }
                        }
                    })
            ),
            ("Added", call.clock.time(endpoint.created)),
        ])
    }
}
