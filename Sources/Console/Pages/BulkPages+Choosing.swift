import Base
import Database
import Duties
import HTTP
import Markup
import Operator
import Subscriptions

/// Forms that choose what a change of many rows is about, where no list does.
extension BulkPages {
    /// A field of such a form.
    private enum Field {
        case text(String, ElementID, String, isNeeded: Bool)
        case choice(String, ElementID, String, [(value: String, text: String)])
    }

    /// What leads to the preview.
    ///
    /// - Parameter problem: what is wrong with what was chosen.
    func choosing(_ request: BulkRequest, _ problem: DeskError?, _ call: PageCall) throws -> Page {
        let fields = try fields(request, call)
        let names = Set(
            fields.map { field in
                switch field {
                case .text(_, _, let name, _), .choice(_, _, let name, _): name
                }
            })
        let path = ConsolePath.many(request)
        // A question that changes nothing, but for ids, which stand in no address.
        let isOfRows = call.form["ids"] != nil
        return Page(request.title, status: problem?.status ?? 200, section: request.section) {
            if let section = request.section { PageParts.path(section, call) }
            Tag.h1 { request.title }
            Tag.p(.classes(.lead)) { request.meaning }
            if let problem { LoginPages.alert(problem.message) }
            Tag.form(.classes(.form), isOfRows ? .post : .get, .action(path)) {
                if isOfRows {
                    call.token(for: path)
                    Tag.input(.type(.hidden), .name("ids"), .value(call.form["ids"] ?? ""))
                }
                for name in call.query.names.subtracting(names).sorted() {
                    if let value = call.query[name], !value.isEmpty {
                        Tag.input(.type(.hidden), .name(name), .value(value))
                    }
                }
                for field in fields { node(field, call) }
                Tag.button(.type(.submit)) { "Show what will happen" }
            }
            if let list = request.listPath { Tag.p { Node.link(to: list) { "Back to the list, without a change" } } }
        }
    }

    private func node(_ field: Field, _ call: PageCall) -> Node {
        switch field {
        case .text(let title, let id, let name, let isNeeded):
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: id)) { title }
                Tag.input(
                    .id(id), .name(name), .type(.text), .value(call.form[name] ?? call.query[name] ?? ""),
                    isNeeded ? .required : nil,
                    .autocomplete(.off), .unspelled)
            }
        case .choice(let title, let id, let name, let values):
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: id)) { title }
                Tag.select(.id(id), .name(name)) {
                    for choice in values {
                        Tag.option(
                            .value(choice.value), choice.value == call.form[name] ?? call.query[name] ? .selected : nil
                        ) {
                            choice.text
                        }
                    }
                }
            }
        }
    }

    private func fields(_ request: BulkRequest, _ call: PageCall) throws -> [Field] {
        switch request {
        case .resend, .giveUp, .reprocess, .resendEvents: []
        case .replayWebhooks:
            [
                .choice(
                    "Endpoint", .endpoint, "endpoint",
                    try call.ask { try $0.endpoints() }.items.map { ($0.endpoint.id, "\($0.endpoint.id) \($0.url)") }),
                .choice(
                    "What", .state, "mode",
                    [
                        (WebhookReplay.Mode.failed.rawValue, "what was given up"),
                        (WebhookReplay.Mode.missing.rawValue, "events that it takes and never had"),
                        (WebhookReplay.Mode.all.rawValue, "all events that it takes"),
                    ]),
                .text("Since (24h, 2026-11-01, yesterday)", .since, "since", isNeeded: true),
                .text("Until (empty: now)", .until, "until", isNeeded: false),
                .text("Only these types (with commas; empty: all)", .type, "type", isNeeded: false),
                .text(
                    "Deliveries per second at most (empty: as the consumer takes them)", .schedule, "rate",
                    isNeeded: false),
            ]
        case .replayHistory:
            scope(call) + [
                .text("Since (7d, 2026-11-01, yesterday)", .since, "since", isNeeded: true),
                .text("Until (empty: now)", .until, "until", isNeeded: false),
                .text("Only these types (with commas; empty: all)", .type, "type", isNeeded: false),
                .choice(
                    "Which", .state, "only_failures",
                    [("false", "all notifications"), ("true", "only those that Apple could not deliver")]),
                sending,
                .choice(
                    "What to do", .outcome, "dry_run",
                    [("false", "store and apply what is missing"), ("true", "only count it")]),
            ]
        case .outageLook: scope(call) + [sending]
        case .grant:
            [
                .choice(
                    "Entitlement", .entitlement, "entitlement",
                    call.desk.catalogue.products.keys.sorted().map { ($0, $0) }),
                .choice("For", .duration, "duration", GrantDuration.allCases.map { ($0.rawValue, $0.words) }),
            ]
        }
    }

    private var sending: Field {
        .choice(
            "Webhooks about what is older than 7 days", .delivery, "send_events",
            [("false", "are stored and not sent"), ("true", "are sent")])
    }

    private func scope(_ call: PageCall) -> [Field] {
        [
            .choice("App", .app, "app", call.desk.apps.map { ($0, $0) }),
            .choice(
                "Environment", .environment, "environment",
                [StoreEnvironment.production, .sandbox].map { ($0.rawValue, $0.rawValue) }),
        ]
    }
}

extension BulkRequest {
    /// Whether a form chooses what it is about; else a list does.
    var isFormed: Bool {
        switch self {
        case .resend, .giveUp, .reprocess, .resendEvents: false
        case .replayWebhooks, .replayHistory, .outageLook, .grant: true
        }
    }

    /// Whether enough was chosen for a preview.
    func isChosen(_ filter: JSON, _ terms: [JSON.Member]) -> Bool {
        let given = Set(((filter.members ?? []) + terms).map(\.name))
        switch self {
        case .resend, .giveUp, .reprocess, .resendEvents: return true
        case .replayWebhooks:
            return given.contains("endpoint") && !given.isDisjoint(with: ["since", "outage"])
        case .replayHistory: return given.contains("since")
        case .outageLook: return given.isSuperset(of: ["outage", "app"])
        case .grant: return given.isSuperset(of: ["entitlement", "duration"])
        }
    }
}
