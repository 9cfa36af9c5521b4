import Accounts
import Base
import Crypto
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// Changes: the form that says what will happen and asks why, what became of it, and the audit.
struct ChangePages: Sendable {
    private let desk: ChangeDesk

    init(_ desk: ChangeDesk) {
        self.desk = desk
    }

    /// The values of a subject, as they stand in the query of the form's address.
    private static let names = ["id", "app", "environment", "uuid"]
    /// Fields of the form that are members of the request.
    private static let members = ["entitlement", "duration", "until", "endpoint", "reason"]
    private static let key = "key"

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute("GET", "/changes/new/KIND") { call in .page(try form(call)) },
            ConsoleRoute("POST", "/changes/new/KIND") { call in try ask(call) },
            ConsoleRoute("GET", "/changes/NUMBER") { call in .page(try change(call)) },
            ConsoleRoute("GET", "/audit") { call in .page(try ChangePages.audit(call)) },
        ]
    }

    // MARK: - The form

    private static func kind(_ call: PageCall) throws(DeskError) -> ChangeKind {
        guard let kind = ChangeKind(rawValue: call.parameter("KIND")), !kind.isBulk else {
            throw .notFound("There is no change of this kind.")
        }
        guard let role = call.viewer?.role, kind.roles.contains(role) else {
            throw .forbidden(call.viewer?.role ?? .read, kind)
        }
        return kind
    }

    private func form(_ call: PageCall, problem: DeskError? = nil) throws -> Page {
        let kind = try ChangePages.kind(call)
        let subject = ChangePages.subject(of: call)
        let path = ConsolePath.newChange(kind)
        // Under a name that another change has, this one would be refused for ever.
        let standing = problem?.status == 409 ? nil : call.form[ChangePages.key]
        return Page(kind.title, status: problem?.status ?? 200) {
            Tag.h1 { kind.title }
            Tag.p(.classes(.lead)) { Node.untrusted(kind.meaning(subject["id"] ?? subject["uuid"] ?? "")) }
            if let problem { LoginPages.alert(problem.message) }
            Tag.form(.classes(.form), .post, .action(path)) {
                call.token(for: path)
                for name in ChangePages.names {
                    if let value = subject[name] { Tag.input(.type(.hidden), .name(name), .value(value)) }
                }
                // A second press of the button is the same change.
                Tag.input(
                    .type(.hidden), .name(ChangePages.key),
                    .value(standing ?? Hex.encode(SecureRandom.bytes(16))))
                fields(kind, call)
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: .reason)) { "Reason" }
                    Tag.input(
                        .id(.reason), .name("reason"), .type(.text), .value(call.form["reason"] ?? ""), .required,
                        .maxLength(1000), .autocomplete(.off), .describedBy(.hint))
                }
                Tag.p(.id(.hint), .classes(.quiet)) {
                    kind == .grant || kind == .revoke
                        ? "It stands in the audit and in the customer's log, for example a ticket."
                        : "It stands in the audit, for example a ticket."
                }
                Tag.button(.type(.submit)) { kind.button }
            }
            if let back = ConsolePath.subject(kind, subject) {
                Tag.p { Node.link(to: back) { "Back, without a change" } }
            }
        }
    }

    private func fields(_ kind: ChangeKind, _ call: PageCall) -> Node {
        switch kind {
        case .grant:
            .group([
                select("Entitlement", .entitlement, "entitlement", entitlements(call), call),
                select(
                    "For", .duration, "duration",
                    GrantDuration.allCases.map { ($0.rawValue, $0.words) }, call),
            ])
        case .revoke: select("Entitlement", .entitlement, "entitlement", entitlements(call), call)
        case .endpointPause:
            select(
                "Until", .until, "until",
                [("1 hour", Int64(1)), ("4 hours", 4), ("1 day", 24), ("3 days", 72)].map { words, hours in
                    let instant = Timestamp.text(call.clock.now + hours * 3_600_000)
                    return (instant, "\(instant), for \(words)")
                }, call)
        case .eventResend: endpoints(call)
        case .resend, .reprocess, .endpointEnable, .endpointDisable, .jobCancel, .bulkResend, .bulkGiveUp,
            .bulkReprocess, .customerResend, .customerGiveUp:
            .none
        }
    }

    /// All, or one of those that have it.
    private func endpoints(_ call: PageCall) -> Node {
        let id = ChangePages.subject(of: call)["id"] ?? ""
        // What is wrong with the id is told when the form is sent.
        let known = (try? call.ask { try $0.event(id).deliveries.map(\.endpoint) }) ?? []
        return select(
            "To", .endpoint, "endpoint",
            [("", "every endpoint that takes it")] + Set(known).sorted().map { ($0, $0) }, call)
    }

    private func entitlements(_ call: PageCall) -> [(value: String, text: String)] {
        call.desk.catalogue.products.keys.sorted().map { ($0, $0) }
    }

    private func select(
        _ title: String, _ id: ElementID, _ name: String, _ choices: [(value: String, text: String)], _ call: PageCall
    ) -> Node {
        Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.select(.id(id), .name(name)) {
                for choice in choices {
                    Tag.option(.value(choice.value), choice.value == call.form[name] ? .selected : nil) { choice.text }
                }
            }
        }
    }

    private static func subject(of call: PageCall) -> [String: String] {
        let source = call.request.head.method == "POST" ? call.form : call.query
        return names.reduce(into: [:]) { values, name in
            if let value = source[name], !value.isEmpty { values[name] = value }
        }
    }

    // MARK: - Asking

    private func ask(_ call: PageCall) throws -> PageAnswer {
        guard let viewer = call.viewer, let kind = ChangeKind(rawValue: call.parameter("KIND")) else {
            throw DeskError.notFound("There is no change of this kind.")
        }
        let members = ChangePages.members.compactMap { name in
            // Every endpoint is none in particular.
            call.form[name].flatMap { value in
                name == "endpoint" && value.isEmpty ? nil : JSON.Member(name: name, value: .string(value))
            }
        }
        let client = call.client
        let origin = ChangeOrigin(
            user: viewer.name, credential: .session(viewer.session.id),
            address: client.address.map { "\($0)" } ?? "", userAgent: client.browser)
        do {
            let asked = try desk.ask(
                kind, of: ChangePages.subject(of: call), body: JSON.object(members).bytes, by: call.asked(by: viewer),
                from: origin, idempotencyKey: call.form[ChangePages.key] ?? "", now: call.clock.now,
                on: call.connection)
            return .after(asked.job, then: ConsolePath.change(asked.job))
        } catch let error as DeskError where error.status == 400 || error.status == 409 {
            return .page(try form(call, problem: error))
        }
    }

    // MARK: - What became of it

    private func change(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        guard let viewer = call.viewer, let number = Int64(call.parameter("NUMBER")) else {
            throw DeskError.notFound("There is no such change.")
        }
        let answer = try desk.change(number, for: call.asked(by: viewer), on: call.connection)
        let change = answer.change
        let job = try change.kind.isBulk ? call.ask { try $0.job(number) } : nil
        return Page(change.kind.title, api: LocalPath("operator", "v1", "jobs", String(change.id))) {
            Tag.h1 {
                change.kind.title
                " "
                switch change.state {
                case .done: PageParts.badge("done", .good)
                case .running: PageParts.badge("under way", .warn)
                case .failed, .cancelled: PageParts.badge("not done", .bad)
                }
            }
            switch change.state {
            case .done: Tag.p(.classes(.lead)) { "It is done." }
            case .running:
                Tag.div(.classes(.notice, .warn), .role(.status)) {
                    Tag.p {
                        "A worker has not done it yet. Load this page again, or watch "
                        Node.link(to: ConsolePath.job(change.id)) { "job \(change.id)" }
                        "."
                    }
                }
            case .failed, .cancelled:
                Tag.div(.classes(.notice, .warn), .role(.alert)) {
                    Tag.p { Node.untrusted(change.error ?? "It was not done.") }
                }
            }
            PageParts.facts(
                [
                    ("Job", Node.link(to: ConsolePath.job(change.id)) { String(change.id) }),
                    ("About", .identifier(change.target, shown: 64)),
                    ("Reason", .untrusted(change.reason)), ("Asked by", .untrusted(change.user)),
                ] + outcome(answer))
            if let job {
                ChangePages.progress(job)
                if change.state == .running { call.changes([.jobCancel], of: ["id": String(number)]) }
            }
            if let page = ConsolePath.subject(change.kind, target: change.target, answer.parameters) {
                Tag.p { Node.link(to: page) { "To what was changed" } }
            }
        }
    }

    /// How far a change of many rows is, and what became of its deliveries.
    private static func progress(_ answer: JobAnswer) -> Node {
        let counts = answer.job.counts
        return PageParts.facts(
            [
                ("Progress", .text("\(Int(answer.job.fraction * 100)) %")),
                ("Matched", .text(String(counts.matched))), ("Done", .text(String(counts.queued))),
                ("Skipped", .text(String(counts.skipped))),
            ] + facts(answer.deliveries ?? [:]))
    }

    /// How many deliveries are in each state.
    static func facts(_ deliveries: [DeliveryState: Int64]) -> [(name: String, value: Node?)] {
        DeliveryState.allCases.compactMap { state -> (name: String, value: Node?)? in
            guard let count = deliveries[state] else { return nil }
            return (
                state.name.prefix(1).uppercased() + state.name.dropFirst(), .text(PageParts.count(CappedCount(count)))
            )
        }
    }

    private func outcome(_ answer: ChangeAnswer) -> [(name: String, value: Node?)] {
        (answer.outcome?.members ?? []).map { member in
            let text =
                member.value.stringValue
                ?? member.value.arrayValue.map { $0.compactMap(\.stringValue).joined(separator: ", ") }
                ?? member.value.text
            // That it is so follows from the page.
            if member.value == .bool(true) { return (member.name, nil) }
            let name = member.name.replacing("_", with: " ")
            return (
                name.prefix(1).uppercased() + name.dropFirst(), text.isEmpty || text == "null" ? nil : .untrusted(text)
            )
        }
    }

    // MARK: - The audit

    private static func audit(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.audit(try call.question(AuditQuestion.self, of: "audit")) }
        return Page("Audit", section: .audit, api: call.api("audit")) {
            Tag.h1 { "Audit" }
            Tag.p(.classes(.lead)) {
                call.viewer?.role == .operator
                    ? "What operators did, and what was refused to them; the newest first."
                    : "What you did, and what was refused to you; the newest first."
            }
            PageParts.filters(
                [
                    .init("kind", "Change", .type, .choice(ChangeKind.allCases.map(\.rawValue))),
                    .init("actor", "Operator", .name), .init("target", "About", .customer),
                    .init("since", "Since", .since), .init("until", "Until", .until),
                ], of: ConsoleSection.audit.path, call)
            PageParts.rows(
                "Changes, the newest first", list, of: ConsoleSection.audit.path, none: "Nothing was changed yet.",
                call,
                [
                    Column("When") { row in call.clock.time(row.at) },
                    Column("Operator", text: \.actor),
                    Column("Change") { row in
                        let title = ChangeKind(rawValue: row.kind)?.title ?? row.kind
                        return row.job.map { job in Node.link(to: ConsolePath.change(job)) { title } } ?? .text(title)
                    },
                    Column("About") { row in .identifier(row.target, shown: 32) },
                    Column("Outcome") { row in
                        PageParts.badge(row.outcome, row.outcome == "done" ? .good : .bad)
                    },
                    Column("Reason", text: \.reason), Column("Why not", text: \.message),
                    Column("From", text: \.address),
                    Column("Job", isNumber: true) { row in
                        row.job.map { job in Node.link(to: ConsolePath.job(job)) { String(job) } } ?? .none
                    },
                ])
        }
    }
}

extension PageCall {
    func asked(by viewer: PageViewer) -> Viewer { Viewer(user: viewer.name, role: viewer.role, zone: viewer.zone) }

    /// Links to the forms of changes that the viewer may ask for.
    func changes(_ kinds: [ChangeKind], of subject: [String: String]) -> Node {
        let allowed = kinds.filter { kind in viewer.map { kind.roles.contains($0.role) } ?? false }
        guard !allowed.isEmpty else { return .none }
        return Tag.p(.classes(.more)) {
            for kind in allowed {
                Tag.a(.classes(.button), .href(ConsolePath.newChange(kind, subject))) { kind.button + " …" }
                " "
            }
        }
    }
}

extension ConsolePath {
    static func change(_ job: Int64) -> LocalPath { LocalPath("console", "changes", String(job)) }

    static func newChange(_ kind: ChangeKind, _ subject: [String: String] = [:]) -> LocalPath {
        subject.sorted { $0.key < $1.key }.reduce(LocalPath("console", "changes", "new", kind.rawValue)) {
            $0.with($1.key, $1.value)
        }
    }

    /// The page of what a change is about.
    static func subject(_ kind: ChangeKind, _ subject: [String: String]) -> LocalPath? {
        switch kind {
        case .reprocess:
            guard let app = subject["app"], let uuid = subject["uuid"],
                let environment = subject["environment"].flatMap(StoreEnvironment.init(rawValue:))
            else { return nil }
            return notification(app: app, environment: environment, uuid: uuid)
        default: return subject["id"].flatMap { self.subject(kind, target: $0, .null) }
        }
    }

    static func subject(_ kind: ChangeKind, target: String, _ parameters: JSON) -> LocalPath? {
        switch kind {
        // To roles that see no customers it is not told.
        case .grant, .revoke, .customerResend, .customerGiveUp: target.isEmpty ? nil : customer(target)
        case .resend: delivery(target)
        case .eventResend: event(target)
        case .jobCancel: Int64(target).map { change($0) }
        case .bulkResend, .bulkGiveUp: section(.deliveries)
        case .bulkReprocess: section(.notifications)
        case .reprocess:
            subject(
                kind,
                [
                    "app": parameters["app"]?.stringValue ?? "", "uuid": target,
                    "environment": parameters["environment"]?.stringValue ?? "",
                ])
        case .endpointEnable, .endpointDisable, .endpointPause: endpoint(target)
        }
    }
}

extension GrantDuration {
    /// How long, as people say it.
    fileprivate var words: String {
        switch self {
        case .daily: "a day"
        case .threeDay: "three days"
        case .weekly: "a week"
        case .twoWeek: "two weeks"
        case .monthly: "a month"
        case .twoMonth: "two months"
        case .threeMonth: "three months"
        case .sixMonth: "six months"
        case .yearly: "a year"
        case .lifetime: "ever"
        }
    }
}

extension ChangeKind {
    var title: String {
        switch self {
        case .grant: "Grant an entitlement"
        case .revoke: "Take back grants"
        case .resend: "Send a delivery again"
        case .eventResend: "Send an event again"
        case .reprocess: "Process a notification again"
        case .endpointEnable: "Enable an endpoint"
        case .endpointDisable: "Disable an endpoint"
        case .endpointPause: "Pause an endpoint"
        case .bulkResend: "Send deliveries again"
        case .bulkGiveUp: "Give up deliveries"
        case .bulkReprocess: "Process notifications again"
        case .customerResend: "Send a customer's deliveries again"
        case .customerGiveUp: "Give up a customer's deliveries"
        case .jobCancel: "Cancel a job"
        }
    }

    fileprivate var button: String {
        switch self {
        case .grant: "Grant"
        case .revoke: "Take back"
        case .resend, .eventResend, .bulkResend, .customerResend: "Send again"
        case .reprocess, .bulkReprocess: "Process again"
        case .bulkGiveUp, .customerGiveUp: "Give up"
        case .jobCancel: "Cancel the job"
        case .endpointEnable: "Enable"
        case .endpointDisable: "Disable"
        case .endpointPause: "Pause"
        }
    }

    /// What will happen, as a sentence.
    fileprivate func meaning(_ id: String) -> String {
        switch self {
        case .grant: "\(id) gets the entitlement without a purchase, and consumers get an event of it."
        case .revoke: "\(id) loses what was granted of the entitlement; purchases stay. Consumers get an event of it."
        case .resend: "The consumer gets \(id) once more, with the id that it had."
        case .eventResend:
            "Consumers get \(id) once more, with the id that it had; one that takes such events and never had it, gets it"
                + " for the first time."
        case .bulkResend, .customerResend: "Consumers get the deliveries once more, with the ids that they had."
        case .bulkGiveUp, .customerGiveUp: "The deliveries are not tried any more."
        case .bulkReprocess: "The notifications are verified and applied again."
        case .jobCancel: "The job \(id) ends where it is; what it sent or queued stays so."
        case .reprocess: "\(id) is verified and applied again. What it changed before is not changed twice."
        case .endpointEnable: "\(id) gets its held deliveries, the oldest first, and all new ones."
        case .endpointDisable: "Nothing is sent to \(id) any more; its deliveries are held until it is enabled."
        case .endpointPause: "Nothing is sent to \(id) until then; what comes meanwhile is sent afterwards."
        }
    }
}
