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
        static let filter = "filter", ids = "ids", key = "key", plan = "plan", count = "count", typed = "typed"
    }

    /// Rows above which the number has to be typed.
    private static let mostUntyped: Int64 = 1000
    /// Of a list's query, what chooses a part of it.
    private static let parts: Set = ["after", "limit", "format", "count", EnvironmentSwitch.name]
    /// Of the query, and kept by the form, what is asked for beside the filter.
    static let terms = ["entitlement", "duration", "dry_run", "rate"]

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

    /// The filters of the list that led here, or the ids of its rows; or as the form kept them.
    private static func selection(_ request: BulkRequest, _ call: PageCall) throws(DeskError) -> JSON.Member {
        if request == .grant, let kept = call.form[Field.ids] {
            guard let ids = try? JSON(parsing: Array(kept.utf8), deepest: 2) else {
                throw .badRequest("The ids of the form cannot be read.")
            }
            return JSON.Member(name: Field.ids, value: ids)
        }
        return JSON.Member(name: Field.filter, value: try filter(request, call))
    }

    private static func filter(_ request: BulkRequest, _ call: PageCall) throws(DeskError) -> JSON {
        if let kept = call.form[Field.filter] {
            guard let filter = try? JSON(parsing: Array(kept.utf8), deepest: 2) else {
                throw .badRequest("The filters of the form cannot be read.")
            }
            return filter
        }
        var members = call.query.names.subtracting(parts).subtracting(terms).sorted().compactMap { name in
            call.query[name].flatMap { $0.isEmpty ? nil : JSON.Member(name: name, value: .string($0)) }
        }
        if let environment = call.environment, EnvironmentSwitch.isTaken(by: request.list.rawValue),
            !members.contains(where: { $0.name == "environment" })
        {
            members.append(JSON.Member(name: "environment", value: .string(environment.rawValue)))
        }
        return .object(members)
    }

    /// What is asked for beside the filter: of the page that led here, or as the form kept it.
    private static func terms(_ call: PageCall) -> [JSON.Member] {
        terms.compactMap { name in
            (call.form[name] ?? call.query[name]).flatMap { value in
                value.isEmpty
                    ? nil
                    : JSON.Member(
                        name: name,
                        value: name == "rate" ? Int64(value).map { .int($0) } ?? .string(value) : .string(value))
            }
        }
    }

    private static func body(
        _ request: BulkRequest, _ selection: JSON.Member, _ terms: [JSON.Member], reason: String?
    ) -> [UInt8] {
        JSON.object(
            [JSON.Member(name: "kind", value: .string(request.rawValue)), selection] + terms
                + (reason.map { [JSON.Member(name: "reason", value: .string($0))] } ?? [])
        ).bytes
    }

    private func form(_ call: PageCall, problem: DeskError? = nil) throws -> Page {
        let request = try BulkPages.request(call)
        let selection = try BulkPages.selection(request, call)
        let terms = BulkPages.terms(call)
        guard let viewer = call.viewer else {
            throw DeskError(401, "unauthorized", "No operator is logged in; log in again.")
        }
        guard request.isChosen(selection.value, terms) else { return try choosing(request, nil, call) }
        // Previewed anew each time: what was shown before may be another number now.
        let preview: ChangePreview
        do {
            preview = try desk.preview(
                .jobs, of: [:], body: BulkPages.body(request, selection, terms, reason: nil),
                by: call.asked(by: viewer),
                from: call.asking(viewer), now: call.clock.now, on: call.connection)
        } catch let error as DeskError where error.status == 400 && request.isFormed && problem == nil {
            return try choosing(request, error, call)
        }
        let rows = preview.effect.rows
        let path = ConsolePath.many(request)
        let list = request.listPath.map { list in
            request.isFormed
                ? list : (selection.value.members ?? []).reduce(list) { $0.with($1.name, $1.value.stringValue) }
        }
        return Page(request.title, status: problem?.status ?? 200, section: request.section) {
            if let section = request.section { PageParts.path(section, call) }
            Tag.h1 { request.title }
            Tag.p(.classes(.lead)) { request.meaning }
            if let problem { LoginPages.alert(problem.message) }
            Tag.h2 { request.isFormed ? "What was chosen" : "All that match" }
            PageParts.facts(
                ((selection.value.members ?? []) + terms).map {
                    ($0.name.asTitle, .untrusted($0.value.stringValue ?? $0.value.text))
                } + (selection.value.arrayValue.map { [("Ids", .text(PageParts.grouped(Int64($0.count))))] } ?? []))
            if rows == nil || !preview.effect.webhooks.isEmpty || preview.effect.refusal != nil {
                ChangePages.effect(preview)
            }
            if let rows {
                BulkPages.counts(request, rows)
                if !rows.samples.isEmpty { BulkPages.samples(request, rows) }
            }
            if let rows, rows.wouldQueue == 0, rows.isComplete {
                PageParts.empty("Nothing would be changed: every row that matches is left out, or none does.")
            } else {
                fields(request, selection, terms, preview, rows, problem, call, path)
            }
            if let list { Tag.p { Node.link(to: list) { "Back to the list, without a change" } } }
        }
    }

    private func fields(
        _ request: BulkRequest, _ selection: JSON.Member, _ terms: [JSON.Member], _ preview: ChangePreview,
        _ rows: BulkPreview?,
        _ problem: DeskError?, _ call: PageCall, _ path: LocalPath
    ) -> Node {
        let standing = problem?.status == 409 ? nil : call.form[Field.key]
        // What Apple has is not known here, and is not typed.
        let large = rows.flatMap { BulkPages.isLarge($0) ? $0.wouldQueue : nil }
        return Tag.form(.classes(.form), .post, .action(path)) {
            call.token(for: path)
            Tag.input(.type(.hidden), .name(selection.name), .value(selection.value.text))
            Tag.input(.type(.hidden), .name(Field.plan), .value(preview.planText))
            for term in terms {
                Tag.input(.type(.hidden), .name(term.name), .value(term.value.stringValue ?? term.value.text))
            }
            // A second press of the button is the same change.
            Tag.input(
                .type(.hidden), .name(Field.key), .value(standing ?? Hex.encode(SecureRandom.bytes(16))))
            if let large { Tag.input(.type(.hidden), .name(Field.count), .value(String(large))) }
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .reason)) { "Reason" }
                Tag.input(
                    .id(.reason), .name("reason"), .type(.text), .value(call.form["reason"] ?? ""), .required,
                    .maxLength(1000), .autocomplete(.off), .describedBy(.hint))
            }
            Tag.p(.id(.hint), .classes(.quiet)) { "It stands in the audit, for example a ticket." }
            if let large {
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: .typed)) { "Type \(large) to confirm" }
                    Tag.input(
                        .id(.typed), .name(Field.typed), .type(.text), .value(""), .required, .autocomplete(.off),
                        .unspelled)
                }
            }
            Tag.button(.type(.submit)) {
                request.button + (rows.map { " " + BulkPages.number($0.wouldQueue, $0) } ?? "")
            }
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
                Column(request.sampled) { sample in
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
        if request == .grant { return ConsolePath.customer(id) }
        guard request.list == .notifications else {
            return id.hasPrefix("dlv_") ? ConsolePath.delivery(id) : ConsolePath.event(id)
        }
        let parts = id.split(separator: "/", maxSplits: 2).map(String.init)
        guard parts.count == 3, let environment = StoreEnvironment(rawValue: parts[1]) else { return nil }
        return ConsolePath.notification(app: parts[0], environment: environment, uuid: parts[2])
    }

    // MARK: - Asking

    private func ask(_ call: PageCall) throws -> PageAnswer {
        let request = try BulkPages.request(call)
        let selection = try BulkPages.selection(request, call)
        guard let viewer = call.viewer else {
            throw DeskError(401, "unauthorized", "No operator is logged in; log in again.")
        }
        // A list that posts the ids of its rows asks for the form.
        guard selection.name != Field.ids || call.form[Field.plan] != nil else { return .page(try form(call)) }
        do {
            if let count = call.form[Field.count], call.form[Field.typed]?.filter(\.isNumber) != count {
                throw DeskError.badRequest("The number that you typed is not \(count).", field: Field.typed)
            }
            let asked = try desk.ask(
                .jobs, of: [:],
                body: BulkPages.body(request, selection, BulkPages.terms(call), reason: call.form["reason"]),
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
                ) { request.linked + " …" }
            }
        }
    }
}

extension PageCall {
    /// Links to forms that choose themselves what they are about.
    ///
    /// - Parameter chosen: what is chosen already, by name.
    func forms(_ requests: [BulkRequest], _ chosen: [String: String] = [:]) -> Node {
        let allowed = requests.filter { request in viewer.map { request.kind.roles.contains($0.role) } ?? false }
        guard !allowed.isEmpty else { return .none }
        return Tag.p(.classes(.more)) {
            for request in allowed {
                let path = chosen.sorted { $0.key < $1.key }.reduce(ConsolePath.many(request)) {
                    $0.with($1.key, $1.value)
                }
                Tag.a(.classes(.button), .href(path)) { request.linked + " …" }
                " "
            }
        }
    }

    /// A button that leads to the form of a grant to these customers; nothing where the viewer may not grant.
    func granting(_ ids: [String]) -> Node {
        let path = ConsolePath.many(.grant)
        guard let viewer, BulkRequest.grant.kind.roles.contains(viewer.role), !ids.isEmpty else { return .none }
        return Tag.form(.classes(.more), .post, .action(path)) {
            token(for: path)
            Tag.input(.type(.hidden), .name("ids"), .value(JSON.strings(ids).text))
            Tag.button(.type(.submit)) {
                "Grant to the \(ids.count) listed …"
            }
        }
    }
}

extension ConsolePath {
    static func many(_ request: BulkRequest) -> LocalPath {
        LocalPath("console", "changes", "many", request.rawValue)
    }
}

extension String {
    /// `attempts_min` as a heading.
    fileprivate var asTitle: String {
        let words = replacing("_", with: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }
}
