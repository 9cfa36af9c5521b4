import Accounts
import Base
import Crypto
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// Changes: the form that says what will happen and asks why, and what became of it.
struct ChangePages: Sendable {
    private let desk: ChangeDesk
    private let waiter: ChangeWaiter

    init(_ desk: ChangeDesk, _ waiter: ChangeWaiter) {
        (self.desk, self.waiter) = (desk, waiter)
    }

    /// The values of a subject, as they stand in the query of the form's address.
    private static let names = ["id", "app", "environment", "uuid", "note", "transaction"]
    /// Fields of the form that are members of the request.
    private static let members = [
        "entitlement", "duration", "until", "endpoint", "text", "alias", "create", "to", "purchase", "customer",
        "preference", "delivery", "consumed", "sample_content", "consent", "overlap", "days", "apple_reason", "reason",
    ]
    /// Those of them that are none where they are empty.
    private static let optional: Set = ["endpoint", "purchase", "preference", "consumed"]
    /// The plan of a preview.
    private static let plan = "plan"
    /// The button that shows what will happen.
    private static let preview = "preview"
    private static let key = "key"

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute("GET", "/changes/new/KIND") { call in .page(try form(call)) },
            ConsoleRoute("POST", "/changes/new/KIND") { call in try ask(call) },
            ConsoleRoute("GET", "/changes/NUMBER") { call in .page(try change(call)) },
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

    private func form(_ call: PageCall, problem: DeskError? = nil, _ preview: ChangePreview? = nil) throws -> Page {
        let kind = try ChangePages.kind(call)
        let subject = ChangePages.subject(of: call)
        let path = ConsolePath.newChange(kind)
        // Under a name that another change has, this one would be refused for ever.
        let standing = problem?.status == 409 ? nil : call.form[ChangePages.key]
        let fields = try self.fields(kind, call)
        return Page(kind.title, status: problem?.status ?? 200) {
            Tag.h1 { kind.title }
            Tag.p(.classes(.lead)) {
                Node.untrusted(kind.meaning(subject["id"] ?? subject["uuid"] ?? subject["transaction"] ?? ""))
            }
            if let problem { LoginPages.alert(problem.message) }
            if let preview { ChangePages.effect(preview) }
            Tag.form(.classes(.form), .post, .action(path)) {
                call.token(for: path)
                for name in ChangePages.names {
                    if let value = subject[name] { Tag.input(.type(.hidden), .name(name), .value(value)) }
                }
                // A second press of the button is the same change.
                Tag.input(
                    .type(.hidden), .name(ChangePages.key),
                    .value(standing ?? Hex.encode(SecureRandom.bytes(16))))
                if let preview { Tag.input(.type(.hidden), .name(ChangePages.plan), .value(preview.planText)) }
                fields
                if kind.needsReason { reason(kind, call) }
                Tag.button(.type(.submit)) { kind.button }
                if kind.needsReason {
                    Tag.button(.type(.submit), .name(ChangePages.preview), .value("true"), .unvalidated) {
                        "Show what will happen"
                    }
                }
            }
            if let back = ConsolePath.subject(kind, subject) {
                Tag.p { Node.link(to: back) { "Back, without a change" } }
            }
        }
    }

    private func reason(_ kind: ChangeKind, _ call: PageCall) -> Node {
        .group([
            field("Reason", .reason, "reason", call, .maxLength(1000), .describedBy(.hint)),
            Tag.p(.id(.hint), .classes(.quiet)) {
                kind.targetClass == .customer
                    ? "It stands in the audit and in the customer's log, for example a ticket."
                    : "It stands in the audit, for example a ticket."
            },
        ])
    }

    private func field(
        _ title: String, _ id: ElementID, _ name: String, _ call: PageCall, isNeeded: Bool = true, _ more: Attribute?...
    ) -> Node {
        Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.input(
                [
                    .id(id), .name(name), .type(.text), .value(call.form[name] ?? ""), isNeeded ? .required : nil,
                    .autocomplete(.off), .unspelled,
                ] + more)
        }
    }

    /// What a preview shows: before and after, and which webhooks go to whom.
    private static func effect(_ preview: ChangePreview) -> Node {
        let effect = preview.effect
        let (before, after) = (effect.before.members ?? [], effect.after.members ?? [])
        let names = (before + after).map(\.name).reduce(into: [String]()) { all, name in
            if !all.contains(name) { all.append(name) }
        }
        return .group([
            Tag.h2 { "What will happen" },
            effect.refusal.map { refusal in
                Tag.div(.classes(.notice, .bad), .role(.status)) {
                    Tag.p { Node.untrusted("It would be refused. \(refusal)") }
                }
            } ?? .none,
            names.isEmpty
                ? .none
                : PageParts.table(
                    "Before and after", names,
                    [
                        Column("What", text: { $0.replacing("_", with: " ") }),
                        Column("Before", text: { told(effect.before[$0]) }),
                        Column("After", text: { told(effect.after[$0]) }),
                    ]),
            effect.webhooks.isEmpty
                ? .none
                : PageParts.table(
                    "Webhooks", effect.webhooks,
                    [
                        Column("Type", text: \.type),
                        Column("To", text: { $0.endpoints.joined(separator: ", ") }),
                        Column("Held for", text: { $0.held.isEmpty ? nil : $0.held.joined(separator: ", ") }),
                    ]),
        ])
    }

    /// A value for people; nil: there is none.
    private static func told(_ value: JSON?) -> String? {
        switch value {
        case nil, .null?: nil
        case .bool(let flag)?: flag ? "yes" : "no"
        case .object?:
            // A number of rows, which is counted up to a limit.
            (value?["value"]?.intValue).map { count in
                PageParts.grouped(count) + (value?["is_capped"] == .bool(true) ? "+" : "")
            } ?? value?.text
        case .array(let values)?: values.map { $0.stringValue ?? $0.text }.joined(separator: ", ")
        case .some(let value): value.stringValue ?? value.text
        }
    }

    private func fields(_ kind: ChangeKind, _ call: PageCall) throws -> Node {
        switch kind {
        case .note:
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .text)) { "Note" }
                Tag.textarea(
                    .id(.text), .name("text"), .rows(6), .required, .maxLength(CustomerNoteTable.longest),
                    .autocomplete(.off)
                ) { Node.text(call.form["text"] ?? "") }
            }
        case .alias:
            .group([
                field("Other id", .alias, "alias", call),
                select(
                    "If no customer has it", .create, "create",
                    [("false", "refuse it"), ("true", "add it as a new id")], call),
            ])
        case .transfer:
            .group([
                field("To the customer", .to, "to", call),
                field(
                    "Only this purchase (original transaction id)", .purchase, "purchase", call, isNeeded: false),
            ])
        case .claim: field("For the customer", .customer, "customer", call)
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
        case .eventResend: try endpoints(call)
        case .refundAnswer: refund(call)
        case .endpointRotateSecret:
            select(
                "Former secrets sign, too, for", .overlap, "overlap",
                [
                    ("24h", "a day at most"), ("1h", "an hour at most"), ("7d", "a week at most"),
                    ("0s", "no more: consumers reject webhooks until they have the new one"),
                ], call)
        case .purchaseExtend:
            .group([
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: .days)) { "Days" }
                    Tag.input(
                        .id(.days), .name("days"), .type(.text), .value(call.form["days"] ?? ""), .required,
                        .autocomplete(.off), .unspelled, .maxLength(2))
                },
                select(
                    "Reason for Apple", .appleReason, "apple_reason",
                    RenewalExtensionTerms.reasons.map { ($0, $0) }, call),
            ])
        case .noteRemove, .resend, .reprocess, .endpointEnable, .endpointDisable, .jobCancel, .bulkResend, .bulkGiveUp,
            .bulkReprocess, .customerResend, .customerGiveUp:
            .none
        }
    }

    private func refund(_ call: PageCall) -> Node {
        .group([
            select(
                "Decision that you prefer", .preference, "preference",
                [
                    ("", "none"), ("decline", "no refund"), ("grant_full", "all of the money"),
                    ("grant_prorated", "a part of the money"),
                ], call),
            select(
                "Delivery", .delivery, "delivery",
                [
                    ("delivered", "it was delivered and worked"), ("quality_issue", "it had a fault"),
                    ("wrong_item", "another thing was delivered"), ("server_outage", "a server was not there"),
                    ("other", "it was not delivered for another reason"),
                ], call),
            field("Per cent that was used (not of what renews)", .consumed, "consumed", call, isNeeded: false),
            select(
                "The customer could try it before", .sample, "sample_content", [("false", "no"), ("true", "yes")], call),
            select(
                "The customer agreed that Apple gets this information", .consent, "consent",
                [("false", "no: nothing is sent"), ("true", "yes, the customer agreed")], call),
        ])
    }

    /// All, or one of those that have it.
    private func endpoints(_ call: PageCall) throws -> Node {
        let id = ChangePages.subject(of: call)["id"] ?? ""
        var known: [String] = []
        do {
            known = try call.ask { try $0.event(id).deliveries.map(\.endpoint) }
        } catch let error as DeskError where error.status == 400 || error.status == 404 {
            // What is wrong with the id is told when the form is sent.
        }
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
        // What was chosen stays chosen, also where the choices are counted from now.
        let kept: [(value: String, text: String)]? = call.form[name].flatMap { value in
            choices.contains { $0.value == value } ? nil : [(value: value, text: value)]
        }
        return Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.select(.id(id), .name(name)) {
                for choice in (kept ?? []) + choices {
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
                ChangePages.optional.contains(name) && value.isEmpty
                    // A text field of several lines is sent with CR LF.
                    ? nil : JSON.Member(name: name, value: .string(value.replacing("\r\n", with: "\n")))
            }
        }
        let body = JSON.object(members.filter { $0.name != "reason" || kind.needsReason }).bytes
        do {
            if call.form[ChangePages.preview] != nil {
                let named = JSON.object(members.filter { $0.name != "reason" }).bytes
                return .page(
                    try form(
                        call,
                        try desk.preview(
                            kind, of: ChangePages.subject(of: call), body: named, by: call.asked(by: viewer),
                            from: call.asking(viewer), now: call.clock.now, on: call.connection)))
            }
            let plan = call.form[ChangePages.plan].flatMap { $0.isEmpty ? nil : $0 }
            let asked = try desk.ask(
                kind, of: ChangePages.subject(of: call), body: body, by: call.asked(by: viewer),
                from: call.asking(viewer), idempotencyKey: call.form[ChangePages.key] ?? "", insisting: plan,
                now: call.clock.now, on: call.connection)
            if let key = asked.answerKey { return try shown(asked, key) }
            return .after(asked.job, then: ConsolePath.change(asked.job))
        } catch let error as DeskError where error.status == 400 || error.status == 409 {
            return .page(try form(call, problem: error))
        }
    }

    /// A secret that a change made, on the page that answers the form: it has no address of its own.
    private func shown(_ asked: ChangeDesk.Asked, _ key: AnswerKey) throws -> PageAnswer {
        guard let change = waiter.outcome(of: asked.job),
            let secret = ChangeAnswer(change, opening: key).secret
        else { return .redirect(ConsolePath.change(asked.job)) }
        let outcome = ChangeAnswer(change).outcome
        return .page(
            Page("New secret", section: .endpoints) {
                Tag.h1 { "The new secret of the endpoint" }
                Tag.div(.classes(.notice, .warn), .role(.status)) {
                    Tag.p { "Copy it to the consumer now: it is not shown again, and no page or table here has it." }
                }
                Node.lines(secret, spoken: "New secret")
                if let publicKey = outcome?["public_key"]?.stringValue {
                    Tag.h2 { "The new public key" }
                    Node.lines(publicKey, spoken: "New public key")
                }
                PageParts.facts([
                    ("Endpoint", .identifier(change.target, shown: 64)),
                    (
                        "Former ones sign until",
                        .untrusted(outcome?["former_secrets_end_at"]?.stringValue ?? "now: none signs any more")
                    ),
                    ("Job", Node.link(to: ConsolePath.job(change.id)) { String(change.id) }),
                ])
                Tag.p { Node.link(to: ConsolePath.endpoint(change.target)) { "To the endpoint" } }
            })
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
            case .done:
                Tag.p(.classes(.lead)) { "It is done." }
                if change.kind == .endpointRotateSecret {
                    Tag.p {
                        "The new secret stood in the answer to the request, once. If it was not seen, rotate again: consumers"
                        " need it."
                    }
                }
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
                    Tag.p { Node.untrusted(change.error ?? "It was not made.") }
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

    /// Why rows were left as they are.
    static func facts(_ skipped: [BulkSkip: Int64]) -> [(name: String, value: Node?)] {
        BulkSkip.allCases.compactMap { reason -> (name: String, value: Node?)? in
            guard let count = skipped[reason], count > 0 else { return nil }
            return (reason.words, .text(PageParts.grouped(count)))
        }
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
        case .refundAnswer: return ConsoleSection.refunds.path
        case .claim, .purchaseExtend:
            guard let app = subject["app"], let id = subject["id"],
                let environment = subject["environment"].flatMap(StoreEnvironment.init(rawValue:))
            else { return nil }
            return purchase(PurchaseKey(app: app, environment: environment, originalTransactionID: id))
        default: return subject["id"].flatMap { self.subject(kind, target: $0, .null) }
        }
    }

    static func subject(_ kind: ChangeKind, target: String, _ parameters: JSON) -> LocalPath? {
        switch kind {
        // To roles that see no customers it is not told.
        case .grant, .revoke, .customerResend, .customerGiveUp, .note, .noteRemove, .alias, .transfer, .claim:
            target.isEmpty ? nil : customer(target)
        case .refundAnswer: section(.refunds)
        case .purchaseExtend: purchases(target)
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
        case .endpointEnable, .endpointDisable, .endpointPause, .endpointRotateSecret: endpoint(target)
        }
    }

    /// The list of purchases with an id; nil where it is not told.
    private static func purchases(_ id: String) -> LocalPath? {
        id.isEmpty ? nil : ConsoleSection.purchases.path.with("id", id)
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
        case .note: "Add a note"
        case .noteRemove: "Remove a note"
        case .alias: "Add an id, or join two customers"
        case .transfer: "Move purchases to another customer"
        case .claim: "Claim a purchase for a customer"
        case .refundAnswer: "Answer Apple about a refund"
        case .endpointRotateSecret: "Rotate the secret of an endpoint"
        case .purchaseExtend: "Extend a renewal date"
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
        case .note: "Add a note"
        case .noteRemove: "Remove"
        case .alias: "Add an id"
        case .transfer: "Move purchases"
        case .claim: "Claim"
        case .refundAnswer: "Answer"
        case .endpointRotateSecret: "Rotate the secret"
        case .purchaseExtend: "Extend"
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
        case .note: "Operators see it on the page of \(id); it goes with the customer."
        case .noteRemove: "The note on \(id) is gone for good; only its author can remove it."
        case .alias:
            "\(id) gets another id. If a customer has that, both become one, with all purchases and attributes; it cannot be"
                + " undone."
        case .transfer:
            "The purchases of \(id) move to another customer and stay there, whatever Apple signs later; grants stay. Consumers"
                + " get an event of it."
        case .claim:
            "The purchase \(id), and all else that its Apple account bought, goes to the customer as if it was restored in the app:"
                + " an anonymous owner is joined with them, which cannot be undone; with another owner, restore_behavior decides"
                + " whether all of it moves, stays, or both customers become one."
        case .refundAnswer:
            "A worker tells Apple how \(id) was used, and what you prefer; Apple decides. It takes one answer, within 12 hours of its"
                + " question, and with the customer's consent only."
        case .endpointRotateSecret:
            "\(id) gets a new secret, which the next page shows once. Webhooks are signed with it at once, and with the former ones for"
                + " a while, so that the consumer has time to take it over."
        case .purchaseExtend:
            "Apple lets the subscription \(id) go on for so many days more without a payment, twice a year at most. It cannot be undone;"
                + " the record follows once Apple reports it."
        case .reprocess: "\(id) is verified and applied again. What it changed before is not changed twice."
        case .endpointEnable: "\(id) gets its held deliveries, the oldest first, and all new ones."
        case .endpointDisable: "Nothing is sent to \(id) any more; its deliveries are held until it is enabled."
        case .endpointPause: "Nothing is sent to \(id) until then; what comes meanwhile is sent afterwards."
        }
    }
}
