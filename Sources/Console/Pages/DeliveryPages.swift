import Base
import Database
import HTTP
import Markup
import Operator

/// Deliveries: webhooks and their attempts.
enum DeliveryPages {
    static let routes = [
        ConsoleRoute("GET", "/deliveries") { call in try call.export("deliveries") ?? .page(try list(call)) },
        ConsoleRoute("GET", "/deliveries/ID") { call in .page(try delivery(call)) },
    ]

    private static func list(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.deliveries(try call.question(DeliveriesQuestion.self, of: "deliveries")) }
        let path = ConsoleSection.deliveries.path
        return Page(
            "Deliveries", section: .deliveries,
            command: call.command(
                "deliveries list",
                [
                    "endpoint": "--endpoint", "state": "--state", "type": "--type", "status": "--status",
                    "customer": "--customer", "event": "--event", "since": "--since", "until": "--until",
                ]), api: call.api("deliveries")
        ) {
            Tag.h1 { "Deliveries" }
            PageParts.filters(
                [
                    .init("state", "State", .state, .choice(DeliveryState.allCases.map(\.name))),
                    .init("endpoint", "Endpoint", .endpoint), .init("type", "Type of event", .type),
                    .init("status", "Last status (404, 5xx)", .status), .init("customer", "Customer", .customer),
                    .init("since", "Since", .since), .init("until", "Until", .until),
                ], of: path, call)
            call.many(requests(call))
            PageParts.rows(
                "Deliveries, the newest first", list, of: path, none: "There is no delivery yet.", call, columns(call))
        }
    }

    /// What fits the state of the rows: what waits is not sent again, and what is over cannot be given up.
    private static func requests(_ call: PageCall) -> [BulkRequest] {
        switch call.query["state"].flatMap(DeliveryState.init(name:)) {
        case .pending, .held: [.giveUp]
        case .delivered, .dead: [.resend]
        case nil: [.resend, .giveUp]
        }
    }

    /// - Parameter ofEvent: whether all rows are of one event, whose type needs no column.
    static func columns(_ call: PageCall, ofEvent: Bool = false) -> [Column<DeliveryRow>] {
        [
            Column("Delivery") { row in
                Node.link(to: ConsolePath.delivery(row.id.text)) {
                    ofEvent ? Node.identifier(row.id.text, shown: 18) : Node.untrusted(row.eventType)
                }
            },
            Column("State") { row in PageParts.badge(row.state) },
            Column("Endpoint") { row in
                PageParts.link(
                    ConsolePath.endpoint(row.endpoint), .endpoints, call, .identifier(row.endpoint, shown: 20))
            },
            Column("Attempts", isNumber: true) { row in row.attempts == 0 ? .none : .text(String(row.attempts)) },
            Column("Last answer", text: { row in row.lastStatus.map { "HTTP \($0)" } }),
            Column("Reason", text: { row in row.state == .delivered ? nil : row.reason }),
            Column("Next attempt") { row in PageParts.time(row.nextAttempt, call) },
            Column("Made") { row in call.clock.time(row.created) },
        ]
    }

    // MARK: - One

    private static func delivery(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let answer = try call.ask { try $0.delivery(call.parameter("ID")) }
        let delivery = answer.delivery
        return Page(
            "Delivery of \(delivery.eventType)", section: .deliveries,
            command: "deliveries show \(PageCall.argument(delivery.id.text))",
            api: call.api("deliveries", delivery.id.text)
        ) {
            PageParts.path(.deliveries, call)
            Tag.h1 {
                Node.untrusted(delivery.eventType)
                " "
                PageParts.badge(delivery.state)
            }
            Tag.p(.classes(.lead)) { lead(answer, call) }
            call.changes([.resend], of: ["id": delivery.id.text])
            Tag.h2 { "Delivery" }
            facts(answer, call)
            Tag.h2 { "Attempts" }
            if answer.attempts.isEmpty {
                PageParts.empty(
                    delivery.attempts == 0 ? "It was not tried yet." : "The attempts are not kept any more.")
            } else {
                attempts(answer.attempts.reversed(), call)
            }
            EventPages.body(answer.body)
        }
    }

    private static func lead(_ answer: DeliveryAnswer, _ call: PageCall) -> Node {
        let delivery = answer.delivery
        if let since = delivery.blockedSince {
            return .group([
                .text("Waits for an earlier event of its purchase since "), call.clock.time(since), .text("."),
            ])
        }
        switch delivery.state {
        case .pending:
            return .group([.text("Tried next "), call.clock.time(delivery.next), .text(".")])
        case .delivered: return .text("The consumer took it.")
        case .dead:
            return .group([
                .untrusted((delivery.reason ?? "given up: no attempt is left").capitalisedStart), .text("."),
            ])
        case .held: return .text("Its endpoint is disabled; it is sent when that is enabled.")
        }
    }

    private static func facts(_ answer: DeliveryAnswer, _ call: PageCall) -> Node {
        let delivery = answer.delivery
        return PageParts.facts([
            ("Id", .identifier(delivery.id.text, shown: 64)),
            (
                "Event",
                UUIDText.bytes(delivery.event) == nil
                    ? .identifier(delivery.event, shown: 64)
                    : PageParts.link(
                        ConsolePath.event(delivery.event), .events, call, .identifier(delivery.event, shown: 64))
            ),
            (
                "Endpoint",
                PageParts.link(
                    ConsolePath.endpoint(delivery.endpoint), .endpoints, call, .identifier(delivery.endpoint, shown: 40)
                )
            ),
            ("Made", call.clock.time(delivery.created)),
            ("Attempts", .text(String(delivery.attempts))),
            ("Last answer", delivery.lastStatus.map { .text("HTTP \($0)") }),
            ("Reason", PageParts.text(delivery.reason)),
            ("Number", answer.sequence.map { .text("\($0) of its purchase") }),
            (
                "Waits for",
                answer.blockedBy.map { id in Node.link(to: ConsolePath.delivery(id.text)) { Node.identifier(id.text) } }
            ),
            ("Repeats", answer.repeats.map { id in Node.link(to: ConsolePath.event(id)) { Node.identifier(id) } }),
        ])
    }

    private static func attempts(_ rows: [AttemptRow], _ call: PageCall) -> Node {
        func time(_ milliseconds: Int64?) -> String? { milliseconds.map { "\(PageParts.grouped($0)) ms" } }
        return .group([
            PageParts.table(
                "Attempts, the newest first", rows,
                [
                    Column("No.") { row in .text(String(row.attempt.number)) },
                    Column("When") { row in call.clock.time(row.attempt.started) },
                    Column("Outcome") { row in outcome(row.attempt) },
                    Column("Total", isNumber: true, text: { time($0.attempt.milliseconds) }),
                    Column("Lookup", isNumber: true, text: { time($0.attempt.timings.lookup) }),
                    Column("Connect", isNumber: true, text: { time($0.attempt.timings.connect) }),
                    Column("TLS", isNumber: true, text: { time($0.attempt.timings.handshake) }),
                    Column("First byte", isNumber: true, text: { time($0.attempt.timings.firstByte) }),
                    Column("Address", text: { $0.attempt.peer }),
                    Column("Host", text: { $0.attempt.host }),
                ]),
            .group(
                rows.prefix(20).map { row in
                    Tag.details(.classes(.card), row.attempt.number == rows.first?.attempt.number ? .open : nil) {
                        Tag.summary { "Answer to attempt \(row.attempt.number)" }
                        answer(row)
                    }
                }),
        ])
    }

    private static func outcome(_ attempt: AttemptSummary) -> Node {
        let isGood = attempt.status.map { (200..<300).contains($0) } ?? false
        let text = attempt.status.map { "HTTP \($0)" } ?? attempt.outcome
        return .group([
            PageParts.badge(text, isGood ? .good : .bad),
            attempt.detail.map { detail in
                .group([.text(" "), Tag.small { Node.untrusted(detail) }])
            } ?? .none,
        ])
    }

    private static func answer(_ row: AttemptRow) -> Node {
        guard row.isAnswerShown else {
            return Tag.p(.classes(.masked)) { "Answers of consumers are hidden from this role." }
        }
        let head = String(decoding: row.attempt.head, as: UTF8.self)
        let text = String(decoding: row.attempt.response, as: UTF8.self)
        return .group([
            head.isEmpty ? .none : .lines(head, spoken: "Header of the answer"),
            text.isEmpty
                ? Tag.p(.classes(.quiet)) {
                    row.attempt.status == nil ? "There was no answer." : "The answer had no body."
                }
                : .lines(text, spoken: "Body of the answer"),
            row.attempt.truncated ? Tag.p(.classes(.quiet)) { "There was more of it." } : .none,
        ])
    }
}
