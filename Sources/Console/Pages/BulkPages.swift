import Base
import Crypto
import Database
import HTTP
import Markup
import Operator

/// Changes of all rows that a list has with its filters: what will happen, how many it is, and the reason.
struct BulkPages: Sendable {
    private let desk: ChangeDesk

    init(_ desk: ChangeDesk) {
        self.desk = desk
    }

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute("GET", "/changes/many/KIND") { call in .page(try form(call)) },
            ConsoleRoute("POST", "/changes/many/KIND") { call in try ask(call) },
        ]
    }

    private enum Field {
        static let filter = "filter", key = "key", plan = "plan", count = "count", typed = "typed"
    }

    /// Rows above which the number has to be typed.
    private static let mostUntyped: Int64 = 1000
    /// Of a list's query, what chooses a part of it.
    private static let parts: Set = ["after", "limit", "format", "count", EnvironmentSwitch.name]

    // MARK: - The form

    private static func request(_ call: PageCall) throws(DeskError) -> BulkRequest {
        guard let request = BulkRequest(rawValue: call.parameter("KIND")) else {
            throw .notFound("There is no change of this kind.")
        }
        guard let role = call.viewer?.role, request.kind.roles.contains(role) else {
            throw .forbidden(call.viewer?.role ?? .read, request.kind)
        }
        return request
    }

    /// The filters: of the list that led here, or as the form kept them.
    private static func filter(_ request: BulkRequest, _ call: PageCall) throws(DeskError) -> JSON {
        if let kept = call.form[Field.filter] {
            guard let filter = try? JSON(parsing: Array(kept.utf8), deepest: 2) else {
                throw .badRequest("The filters of the form cannot be read.")
            }
            return filter
        }
        var members = call.query.names.subtracting(parts).sorted().compactMap { name in
            call.query[name].flatMap { $0.isEmpty ? nil : JSON.Member(name: name, value: .string($0)) }
        }
        if let environment = call.environment, EnvironmentSwitch.isTaken(by: request.list.rawValue),
            !members.contains(where: { $0.name == "environment" })
        {
            members.append(JSON.Member(name: "environment", value: .string(environment.rawValue)))
        }
        return .object(members)
    }

    private static func body(_ request: BulkRequest, _ filter: JSON, reason: String?) -> [UInt8] {
        JSON.object([
            "kind": .string(request.rawValue), "filter": filter, "reason": reason.map { .string($0) },
        ]).bytes
    }

    private func form(_ call: PageCall, problem: DeskError? = nil) throws -> Page {
        let request = try BulkPages.request(call)
        let filter = try BulkPages.filter(request, call)
        guard let viewer = call.viewer else {
            throw DeskError(401, "unauthorized", "No operator is logged in; log in again.")
        }
        // Previewed anew each time: what was shown before may be another number now.
        let preview = try desk.preview(
            .jobs, of: [:], body: BulkPages.body(request, filter, reason: nil), by: call.asked(by: viewer),
            from: call.asking(viewer), now: call.clock.now, on: call.connection)
        guard let rows = preview.effect.rows else { throw DeskError.badRequest("The selection cannot be read.") }
        let path = ConsolePath.many(request)
        let list = request.listPath.map { list in
            (filter.members ?? []).reduce(list) { $0.with($1.name, $1.value.stringValue) }
        }
        return Page(request.title, status: problem?.status ?? 200, section: request.section) {
            if let section = request.section { PageParts.path(section, call) }
            Tag.h1 { request.title }
            Tag.p(.classes(.lead)) { request.meaning }
            if let problem { LoginPages.alert(problem.message) }
            Tag.h2 { "All that match" }
            PageParts.facts(
                (filter.members ?? []).map { ($0.name.asTitle, .untrusted($0.value.stringValue ?? $0.value.text)) })
            BulkPages.counts(request, rows)
            if !rows.samples.isEmpty { BulkPages.samples(request, rows) }
            if rows.wouldQueue == 0, rows.isComplete {
                PageParts.empty("Nothing would be changed: every row that matches is left out, or none does.")
            } else {
                fields(request, filter, preview, rows, problem, call, path)
            }
            if let list { Tag.p { Node.link(to: list) { "Back to the list, without a change" } } }
        }
    }

    private func fields(
        _ request: BulkRequest, _ filter: JSON, _ preview: ChangePreview, _ rows: BulkPreview, _ problem: DeskError?,
        _ call: PageCall, _ path: LocalPath
    ) -> Node {
        let standing = problem?.status == 409 ? nil : call.form[Field.key]
        let isLarge = BulkPages.isLarge(rows)
        return Tag.form(.classes(.form), .post, .action(path)) {
            call.token(for: path)
            Tag.input(.type(.hidden), .name(Field.filter), .value(filter.text))
            Tag.input(.type(.hidden), .name(Field.plan), .value(preview.planText))
            // A second press of the button is the same change.
            Tag.input(
                .type(.hidden), .name(Field.key), .value(standing ?? Hex.encode(SecureRandom.bytes(16))))
            if isLarge { Tag.input(.type(.hidden), .name(Field.count), .value(String(rows.wouldQueue))) }
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .reason)) { "Reason" }
                Tag.input(
                    .id(.reason), .name("reason"), .type(.text), .value(call.form["reason"] ?? ""), .required,
                    .maxLength(1000), .autocomplete(.off), .describedBy(.hint))
            }
            Tag.p(.id(.hint), .classes(.quiet)) { "It stands in the audit, for example a ticket." }
            if isLarge {
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: .typed)) { "Type \(rows.wouldQueue) to confirm" }
                    Tag.input(
                        .id(.typed), .name(Field.typed), .type(.text), .value(""), .required, .autocomplete(.off),
                        .unspelled)
                }
            }
            Tag.button(.type(.submit)) { "\(request.button) \(BulkPages.number(rows.wouldQueue, rows))" }
        }
    }

    private static func isLarge(_ rows: BulkPreview) -> Bool { !rows.isComplete || rows.wouldQueue > mostUntyped }

    private static func number(_ count: Int64, _ rows: BulkPreview) -> String {
        (rows.isComplete ? "" : "at least ") + PageParts.grouped(count)
    }

    // MARK: - What will happen

    private static func counts(_ request: BulkRequest, _ rows: BulkPreview) -> Node {
        let skipped = rows.skipped.values.reduce(0, +)
        let figures: [(title: String, number: Int64, text: String)] = [
            ("Match", rows.matched, rows.isComplete ? "with these filters" : "counted within a second; there are more"),
            (request.counted, rows.wouldQueue, "when you confirm"), ("Left out", skipped, "stay as they are"),
        ]
        return .group([
            Tag.div(.classes(.cards)) {
                for figure in figures {
                    Tag.section(.classes(.card)) {
                        Tag.h2 { figure.title }
                        Tag.p(.classes(.figure)) { PageParts.grouped(figure.number) + (rows.isComplete ? "" : "+") }
                        Tag.p(.classes(.quiet)) { figure.text }
                    }
                }
            },
            rows.skipped.isEmpty
                ? .none : .group([Tag.h2 { "Left out" }, PageParts.facts(ChangePages.facts(rows.skipped))]),
            rows.byEndpoint.isEmpty
                ? .none
                : PageParts.table(
                    "By endpoint", rows.byEndpoint.sorted { $0.key < $1.key },
                    [
                        Column("Endpoint") { entry in .identifier(entry.key, shown: 40) },
                        Column(request.counted, isNumber: true, text: { entry in PageParts.grouped(entry.value) }),
                    ]),
        ])
    }

    private static func samples(_ request: BulkRequest, _ rows: BulkPreview) -> Node {
        PageParts.table(
            "Some of those that match", rows.samples,
            [
                Column(request.list == .notifications ? "Notification" : "Delivery") { sample in
                    let id = sample["id"]?.stringValue ?? ""
                    guard let path = path(of: id, request) else { return .identifier(id, shown: 40) }
                    return Node.link(to: path) { Node.identifier(id, shown: 40) }
                },
                Column("Type", text: { $0["type"]?.stringValue }),
                Column("Endpoint") { sample in
                    (sample["endpoint"]?.stringValue).map { .identifier($0, shown: 20) } ?? .none
                },
            ])
    }

    private static func path(of id: String, _ request: BulkRequest) -> LocalPath? {
        guard request.list == .notifications else { return ConsolePath.delivery(id) }
        let parts = id.split(separator: "/", maxSplits: 2).map(String.init)
        guard parts.count == 3, let environment = StoreEnvironment(rawValue: parts[1]) else { return nil }
        return ConsolePath.notification(app: parts[0], environment: environment, uuid: parts[2])
    }

    // MARK: - Asking

    private func ask(_ call: PageCall) throws -> PageAnswer {
        let request = try BulkPages.request(call)
        let filter = try BulkPages.filter(request, call)
        guard let viewer = call.viewer else {
            throw DeskError(401, "unauthorized", "No operator is logged in; log in again.")
        }
        do {
            if let count = call.form[Field.count], call.form[Field.typed]?.filter(\.isNumber) != count {
                throw DeskError.badRequest("The number that you typed is not \(count).", field: Field.typed)
            }
            let asked = try desk.ask(
                .jobs, of: [:], body: BulkPages.body(request, filter, reason: call.form["reason"]),
                by: call.asked(by: viewer), from: call.asking(viewer), idempotencyKey: call.form[Field.key] ?? "",
                insisting: call.form[Field.plan] ?? "", now: call.clock.now, on: call.connection)
            return .redirect(ConsolePath.job(asked.job))
        } catch let error as DeskError where error.status == 400 || error.status == 409 {
            return .page(try form(call, problem: error))
        }
    }
}

extension PageCall {
    /// Links to the forms of changes of all rows that the list has with the page's filters; nothing without a filter.
    func many(_ requests: [BulkRequest]) -> Node {
        let isOfOne = environment != nil && requests.contains { EnvironmentSwitch.isTaken(by: $0.list.rawValue) }
        guard PageParts.isFiltered(self) || isOfOne else { return .none }
        let allowed = requests.filter { request in viewer.map { request.kind.roles.contains($0.role) } ?? false }
        guard !allowed.isEmpty else { return .none }
        return Tag.p(.classes(.more)) {
            Tag.span { "All that match:" }
            for request in allowed {
                " "
                Tag.a(
                    .classes(.button),
                    .href(PageParts.again(ConsolePath.many(request), self).with("after", nil).with("limit", nil))
                ) { request.button + " …" }
            }
        }
    }
}

extension ConsolePath {
    static func many(_ request: BulkRequest) -> LocalPath {
        LocalPath("console", "changes", "many", request.rawValue)
    }
}

extension BulkRequest {
    fileprivate var section: ConsoleSection? { ConsoleSection.allCases.first { $0.desk == list } }
    fileprivate var listPath: LocalPath? { section?.path }

    fileprivate var title: String {
        switch self {
        case .resend: "Send deliveries again"
        case .giveUp: "Give up deliveries"
        case .reprocess: "Process notifications again"
        case .resendEvents: "Send events again"
        }
    }

    fileprivate var button: String {
        switch self {
        case .resend, .resendEvents: "Send again"
        case .giveUp: "Give up"
        case .reprocess: "Process again"
        }
    }

    /// What becomes of those that are not left out.
    fileprivate var counted: String {
        switch self {
        case .resend, .resendEvents: "Would be sent"
        case .giveUp: "Would be given up"
        case .reprocess: "Would be processed"
        }
    }

    fileprivate var meaning: String {
        switch self {
        case .resend:
            "Consumers get what was delivered or given up once more, with the ids that it had. What is on its way stays there."
        case .giveUp: "What waits is not tried any more. It can be sent again later."
        case .reprocess:
            "The notifications are verified and applied again. What they changed before is not changed twice."
        case .resendEvents:
            "Consumers get the deliveries of these events once more, with the ids that they had. An endpoint that never had an"
                + " event does not get it."
        }
    }
}

extension BulkSkip {
    /// Why it is left as it is.
    var words: String {
        switch self {
        case .open: "On its way already"
        case .ended: "Delivered or given up"
        case .endpointDisabled: "Endpoint disabled"
        case .endpointRemoved: "Endpoint removed"
        case .notKept: "Not kept any more"
        case .changed: "Changed meanwhile"
        }
    }
}

extension String {
    /// `attempts_min` as a heading.
    fileprivate var asTitle: String {
        let words = replacing("_", with: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }
}
