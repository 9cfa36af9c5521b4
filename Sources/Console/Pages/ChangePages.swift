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
    let desk: ChangeDesk
    private let waiter: ChangeWaiter
    private let room: WaitingRoom

    init(_ desk: ChangeDesk, _ waiter: ChangeWaiter, _ room: WaitingRoom) {
        (self.desk, self.waiter, self.room) = (desk, waiter, room)
    }

    /// The values of a subject, as they stand in the query of the form's address.
    private static let names = ["id", "app", "environment", "uuid", "note", "transaction", "order_id"]
    /// Fields of the form that are members of the request.
    private static let members = [
        "entitlement", "duration", "until", "endpoint", "text", "alias", "create", "to", "purchase", "customer",
        "preference", "delivery", "consumed", "sample_content", "consent", "overlap", "days", "apple_reason",
        "url", "format", "environments", "events", "excepted_events", "apps", "ordering", "retry_schedule", "include",
        "extension_version", "asymmetric", "since", "authorization", "without_authorization", "headers",
        "without_headers", "secret", "policy", "reason",
    ]
    /// Those of them that are none where they are empty.
    private static let optional: Set = [
        "endpoint", "purchase", "preference", "consumed", "url", "ordering", "retry_schedule", "include",
        "extension_version", "asymmetric", "since", "authorization", "headers", "secret",
    ]
    /// The id once more, by which a change that takes something away for good is confirmed.
    private static let confirmation = "confirmation"
    /// The plan of a preview.
    private static let plan = "plan"
    private static let gave = "gave"
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

    /// What a change that takes something away for good would come to: it is shown before anything is asked for.
    private func loss(_ kind: ChangeKind, _ call: PageCall) throws -> (ChangePreview?, DeskError?) {
        guard kind.isFinal, let viewer = call.viewer else { return (nil, nil) }
        let policy = call.form["policy"].map { [JSON.Member(name: "policy", value: .string($0))] } ?? []
        do {
            let preview = try desk.preview(
                kind, of: ChangePages.subject(of: call), body: JSON.object(policy).bytes, by: call.asked(by: viewer),
                from: call.asking(viewer), now: call.clock.now, on: call.connection)
            return (preview, nil)
        } catch let error as DeskError where error.status == 400 || error.status == 404 {
            return (nil, error)
        }
    }

    private func form(_ call: PageCall, problem given: DeskError? = nil, _ shown: ChangePreview? = nil) throws -> Page {
        let kind = try ChangePages.kind(call)
        let subject = ChangePages.subject(of: call)
        let (loss, missing) = try shown == nil ? self.loss(kind, call) : (nil, nil)
        let (preview, problem) = (shown ?? loss, given ?? missing)
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
                // Of an order they are fields.
                for name in kind == .orderLookup ? [] : ChangePages.names {
                    if let value = subject[name] { Tag.input(.type(.hidden), .name(name), .value(value)) }
                }
                // A second press of the button is the same change.
                Tag.input(
                    .type(.hidden), .name(ChangePages.key),
                    .value(standing ?? Hex.encode(SecureRandom.bytes(16))))
                if let preview { Tag.input(.type(.hidden), .name(ChangePages.plan), .value(preview.planText)) }
                let given = ChangePages.given(call)
                if !given.isEmpty {
                    Tag.input(.type(.hidden), .name(ChangePages.gave), .value(given.joined(separator: " ")))
                }
                fields
                if kind.isFinal {
                    field(
                        "To confirm, type the id once more", .confirmation, ChangePages.confirmation, call,
                        isNeeded: false)
                }
                if kind.takesReason { reason(kind, call) }
                Tag.button(.type(.submit)) { kind.button }
                if kind.takesReason {
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
            field(
                "Reason", .reason, "reason", call, isNeeded: kind.needsReason, .maxLength(1000), .describedBy(.hint)),
            Tag.p(.id(.hint), .classes(.quiet)) {
                kind.targetClass == .customer && !kind.isFinal
                    ? "It stands in the audit and in the customer's log, for example a ticket."
                    : "It stands in the audit, for example a ticket."
            },
        ])
    }

    func field(
        _ title: String, _ id: ElementID, _ name: String, _ call: PageCall, isNeeded: Bool = true,
        value: String? = nil, _ more: Attribute?...
    ) -> Node {
        Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.input(
                [
                    .id(id), .name(name), .type(.text), .value(value ?? call.form[name] ?? ""),
                    isNeeded ? .required : nil,
                    .autocomplete(.off), .unspelled,
                ] + more)
        }
    }

    /// What a preview shows: before and after, and which webhooks go to whom.
    static func effect(_ preview: ChangePreview) -> Node {
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

    static func subject(of call: PageCall) -> [String: String] {
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
                (ChangePages.optional.contains(name) || name == "reason" && !kind.needsReason) && value.isEmpty
                    // A text field of several lines is sent with CR LF.
                    ? nil : JSON.Member(name: name, value: .string(value.replacing("\r\n", with: "\n")))
            }
        }
        let body = JSON.object(members.filter { $0.name != "reason" || kind.takesReason }).bytes
        do {
            if kind.isFinal, call.form[ChangePages.preview] == nil,
                call.form[ChangePages.confirmation] != call.form["id"]
            {
                throw DeskError.badRequest("The id to confirm it is another one; nothing was changed.")
            }
            if let name = ChangePages.given(call).first(where: { (call.form[$0] ?? "").isEmpty }) {
                throw DeskError.badRequest(
                    "What is secret is not kept on the page: give \(name) once more, or begin with an empty form.")
            }
            if call.form[ChangePages.preview] != nil {
                let named = JSON.object(members.filter { $0.name != "reason" }).bytes
                return .page(
                    try form(
                        call,
                        try desk.preview(
                            kind, of: ChangePages.subject(of: call), body: named, by: call.asked(by: viewer),
                            from: call.asking(viewer), now: call.clock.now, on: call.connection)))
            }
            // The page of a secret that is made has to be waited for: it is asked for only if that can be.
            let isGiven = kind == .endpointRotateSecret && ChangePages.given(call).contains("secret")
            guard kind.makesSecret, !isGiven else { return try ask(kind, body, by: viewer, call) }
            return try room.wait { mayWait in
                guard mayWait else {
                    throw DeskError.unavailable(
                        "A secret or a name of another request is waited for; nothing was changed. Send it again in a"
                            + " few seconds.")
                }
                return try ask(kind, body, by: viewer, call)
            }
        } catch let error as DeskError where [400, 409, 429, 503].contains(error.status) {
            return .page(try form(call, problem: error))
        }
    }

    private func ask(
        _ kind: ChangeKind, _ body: [UInt8], by viewer: PageViewer, _ call: PageCall
    ) throws -> PageAnswer {
        let plan = call.form[ChangePages.plan].flatMap { $0.isEmpty ? nil : $0 }
        let asked = try desk.ask(
            kind, of: ChangePages.subject(of: call), body: body, by: call.asked(by: viewer),
            from: call.asking(viewer), idempotencyKey: call.form[ChangePages.key] ?? "", insisting: plan,
            now: call.clock.now, on: call.connection)
        if let key = asked.answerKey { return try shown(asked, key) }
        return .after(asked.job, then: ConsolePath.change(asked.job))
    }

    /// Names of the secrets that were given, on this page or on one before it: to forget one would change what is asked for.
    private static func given(_ call: PageCall) -> [String] {
        let before = (call.form[gave] ?? "").split(separator: " ").map(String.init)
        return GivenSecrets.members.sorted().filter { before.contains($0) || !(call.form[$0] ?? "").isEmpty }
    }

    /// A secret that a change made, on the page that answers the form: it has no address of its own.
    private func shown(_ asked: ChangeDesk.Asked, _ key: AnswerKey) throws -> PageAnswer {
        guard let change = waiter.outcome(of: asked.job),
            let secret = ChangeAnswer(change, opening: key).secret
        else { return .redirect(ConsolePath.change(asked.job)) }
        let outcome = ChangeAnswer(change).outcome
        return .page(
            Page("New secret", section: .endpoints) {
                Tag.h1 {
                    change.kind == .endpointAdd ? "The new endpoint, and its secret" : "The new secret of the endpoint"
                }
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
                        change.kind == .endpointAdd
                            ? nil
                            : .untrusted(outcome?["former_secrets_end_at"]?.stringValue ?? "now: none signs any more")
                    ),
                    ("Job", Node.link(to: ConsolePath.job(change.id)) { String(change.id) }),
                ])
                Tag.p { Node.link(to: ConsolePath.endpoint(change.target)) { "To the endpoint" } }
            })
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
        case .endpointAdd: return ConsoleSection.endpoints.path
        case .claim, .purchaseExtend, .statusPoll:
            guard let app = subject["app"], let id = subject["id"],
                let environment = subject["environment"].flatMap(StoreEnvironment.init(rawValue:))
            else { return nil }
            return purchase(PurchaseKey(app: app, environment: environment, originalTransactionID: id))
        case .endpointRemove: return subject["id"].map(endpoint)
        case .customerDelete: return subject["id"].map(customer)
        default: return subject["id"].flatMap { self.subject(kind, target: $0, .null) }
        }
    }

    static func subject(_ kind: ChangeKind, target: String, _ parameters: JSON) -> LocalPath? {
        switch kind {
        // To roles that see no customers it is not told.
        case .grant, .revoke, .customerResend, .customerGiveUp, .note, .noteRemove, .alias, .transfer, .claim:
            target.isEmpty ? nil : customer(target)
        case .refundAnswer: section(.refunds)
        case .purchaseExtend, .statusPoll: purchases(target)
        case .orderLookup: nil
        case .resend: delivery(target)
        case .eventResend: event(target)
        case .jobCancel: Int64(target).map { change($0) }
        case .bulkResend, .bulkGiveUp: section(.deliveries)
        case .bulkGrant: section(.customers)
        case .replayHistory: section(.outages)
        case .outageLook: Int64(target).map { outage($0) }
        case .bulkReprocess: section(.notifications)
        case .reprocess:
            subject(
                kind,
                [
                    "app": parameters["app"]?.stringValue ?? "", "uuid": target,
                    "environment": parameters["environment"]?.stringValue ?? "",
                ])
        case .endpointEnable, .endpointDisable, .endpointPause, .endpointRotateSecret, .endpointAdd, .endpointChange,
            .endpointTest, .replayWebhooks:
            endpoint(target)
        case .endpointRemove: section(.endpoints)
        case .customerDelete: section(.customers)
        }
    }

    /// The list of purchases with an id; nil where it is not told.
    private static func purchases(_ id: String) -> LocalPath? {
        id.isEmpty ? nil : ConsoleSection.purchases.path.with("id", id)
    }
}
