import Accounts
import Base
import Crypto
import Daemon
import Database
import HTTP
import Markup
import Operator
import Postgres
import Synchronization

/// Everything below `/console`: finds the page, checks the request and its session, and answers.
package final class ConsolePages: HTTPHandler, Service {
    package let name = "console-passwords"

    private static let reportPath = "/console/csp"
    private static let reportLimit = 8192

    private let settings: PageSettings
    let routes: [ConsoleRoute]
    private let login: LoginPages
    private let desk: DeskSettings
    private let pages: DeskThreads
    private let waiter: ChangeWaiter
    /// Two at a time: each takes 32 MiB and a core.
    private let passwords: DeskThreads
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics
    private let reports = Mutex((count: 0, loggedAt: ContinuousClock.Instant?.none))

    /// - Parameter sessions: makes a session of the Postgres role `entitled_console`.
    package init(
        _ settings: PageSettings, _ parts: ConsoleParts, sessions: () throws -> PostgresSession
    ) rethrows {
        self.settings = settings
        desk = parts.settings.desk
        clock = parts.clock
        logger = parts.logger
        metrics = parts.metrics
        pages = parts.threads
        waiter = parts.waiter
        login = LoginPages(clock: parts.clock, logger: parts.logger, metrics: parts.metrics)
        routes =
            login.routes + MePages(clock: parts.clock, logger: parts.logger).routes + OverviewPage.routes
            + SearchPage.routes
            + CustomerPages.routes + EventPages.routes + DeliveryPages.routes + EndpointPages.routes
            + NotificationPages.routes + ChartPages.routes + ChangePages(parts.changes, parts.waiter, parts.room).routes
            + AuditPage.routes
            + BulkPages(parts.changes).routes
            + PurchaseRecordPages.routes
            + OutagePages.routes + RefundPage.routes + ProductPage.routes + JobPages.routes + SettingsPage.routes
        passwords = try DeskThreads(
            name: "console-password", count: 2, waitingLimit: 32, patience: .seconds(5),
            busy: .unavailable("Too many log-ins are waiting."), sessions: sessions)
        metrics.count(.consoleReports, by: 0)
    }

    package func start() { passwords.start() }

    package func drain(until deadline: ContinuousClock.Instant) { passwords.drain(until: deadline) }

    // MARK: - Before the body

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard settings.address.origin(of: head) != nil else { return otherAddress }
        if head.path == ConsolePages.reportPath {
            guard head.method == "POST" else { return text(405, "POST only.", ("Allow", "POST")) }
            return length(head) <= ConsolePages.reportLimit ? nil : text(413, "Not read.")
        }
        if head.path == StyleSheet.path.text {
            return isReading(head) ? nil : text(405, "GET only.", ("Allow", "GET, HEAD"))
        }
        let found = match(head)
        guard found.route == nil else {
            return length(head) <= Form.limits.bytes ? nil : text(413, "A form has at most \(Form.limits.bytes) bytes.")
        }
        guard found.allowed.isEmpty else {
            return text(
                405, "This page does not support this method.", ("Allow", found.allowed.joined(separator: ", ")))
        }
        return nil
    }

    private var otherAddress: HTTPResponse {
        text(421, "This console answers its own address only; console.public_url sets it.")
    }

    private func length(_ head: HTTPRequestHead) -> Int { head.header("content-length").flatMap { Int($0) } ?? 0 }
    private func isReading(_ head: HTTPRequestHead) -> Bool { head.method == "GET" || head.method == "HEAD" }

    private func text(_ status: Int, _ text: String, _ header: (name: String, value: String)? = nil) -> HTTPResponse {
        .text(status, text + "\n", headers: PageHeaders.unkept + (header.map { [$0] } ?? []))
    }

    private func match(_ head: HTTPRequestHead) -> (
        route: ConsoleRoute?, parameters: [String: String], allowed: [String]
    ) {
        let method = head.method == "HEAD" ? "GET" : head.method
        var allowed: Set<String> = []
        guard let segments = ConsoleRoute.segments(of: head.path) else { return (nil, [:], []) }
        for route in routes {
            guard let parameters = route.parameters(of: segments) else { continue }
            if route.method == method { return (route, parameters, []) }
            allowed.insert(route.method)
            if route.method == "GET" { allowed.insert("HEAD") }
        }
        return (nil, [:], allowed.sorted())
    }

    // MARK: - Answering

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let (asked, name): (Asked, String?)
        do {
            (asked, name) = (try find(request), try operatorName(request))
        } catch {
            return responder.respond(error.response)
        }
        let route = asked.route
        let began = ContinuousClock.now
        let answered = HTTPResponder { [metrics] response in
            responder.respond(response)
            metrics.observe(.consoleSeconds, .now - began, ["page": route.name])
        }
        let (query, form): (Form, Form)
        do {
            (query, form) = try read(request, asked)
        } catch {
            return answered.respond(error.response)
        }
        let failed: @Sendable (any Error) -> HTTPResponse = { [self] in self.failed($0, route, request.head) }
        let work: DeskThreads.Work = { [self] connection in
            try answer(asked, request, query: query, form: form, named: name, on: connection, answered)
        }
        switch route.work {
        case .page: pages.run(answered, failed: failed, work)
        case .password: passwords.run(answered, failed: failed, work)
        }
    }

    /// A page that a request asks for.
    private struct Asked: Sendable {
        let route: ConsoleRoute
        let parameters: [String: String]
        let origin: String
    }

    /// The answer of a request that reaches no page.
    private struct EarlyAnswer: Error {
        let response: HTTPResponse
    }

    private func find(_ request: HTTPRequest) throws(EarlyAnswer) -> Asked {
        let head = request.head
        if let refusal = refuse(head) { throw EarlyAnswer(response: refusal) }
        guard let origin = settings.address.origin(of: head) else { throw EarlyAnswer(response: otherAddress) }
        // A Host is what the client writes: without a URL of its own the console is for this host alone.
        guard settings.address != .loopback || ConsolePages.isLocal(request.remoteAddress) else {
            throw EarlyAnswer(
                response: text(421, "Without console.public_url the console answers its own host only."))
        }
        if head.path == StyleSheet.path.text { throw EarlyAnswer(response: StyleSheet.response) }
        if head.path == ConsolePages.reportPath { throw EarlyAnswer(response: report(request)) }
        if head.path == "/", isReading(head) {
            throw EarlyAnswer(response: .seeOther(ConsolePath.home, headers: PageHeaders.unkept))
        }
        let (route, parameters, _) = match(head)
        guard let route else {
            throw EarlyAnswer(response: plain(404, "Not found", "There is no page at this address.", head))
        }
        return Asked(route: route, parameters: parameters, origin: origin)
    }

    /// The operator, as a proxy says; nil: operators log in here.
    private func operatorName(_ request: HTTPRequest) throws(EarlyAnswer) -> String? {
        let name: String?
        do {
            name = try settings.proxyLogin?.name(request.head, peer: request.remoteAddress)
        } catch {
            throw EarlyAnswer(response: plain(400, "This request is not believed", error.text, request.head))
        }
        guard name != nil || !settings.hasNoPasswords else {
            throw EarlyAnswer(
                response: plain(
                    403, "The proxy logs you in",
                    "Operators come to this console through a proxy, which has to name them (console.proxy); this request has"
                        + " no name.", request.head))
        }
        return name
    }

    private func read(_ request: HTTPRequest, _ asked: Asked) throws(EarlyAnswer) -> (query: Form, form: Form) {
        do {
            let query = try Form(query: request.head.query ?? "")
            return (query, asked.route.method == "POST" ? try checked(request, asked.origin) : Form([:]))
        } catch let fault as Form.Fault {
            throw EarlyAnswer(
                response: plain(
                    fault.status, "The request was not read", "\(fault).".capitalizedFirst, request.head))
        } catch {
            guard error as? RequestOrigin.Refusal == .otherSite else {
                throw EarlyAnswer(response: otherForm(request.head))
            }
            throw EarlyAnswer(
                response: plain(
                    403, "This form was not taken",
                    "It was not sent by a page of this console. Open the page here, and send it again.", request.head))
        }
    }

    /// The form of a POST.
    ///
    /// - Throws: `Form.Fault`, `RequestOrigin.Refusal`.
    private func checked(_ request: HTTPRequest, _ origin: String) throws -> Form {
        try RequestOrigin.check(request.head, origin: origin)
        let form = try Form(request)
        guard let path = ConsolePath.reading(request.head.path),
            FormToken.isRight(
                form[FormToken.field], for: path, cookie: SessionCookie.value(request.head, settings.address))
        else { throw RequestOrigin.Refusal.otherForm }
        return form
    }

    /// - Parameter name: of the operator, as a proxy says.
    private func answer(
        _ asked: Asked, _ request: HTTPRequest, query: Form, form: Form, named name: String?,
        on connection: PostgresConnection, _ responder: HTTPResponder
    ) throws -> HTTPResponse? {
        let route = asked.route
        let given = SessionCookie.value(request.head, settings.address)
        let found = try given.flatMap {
            try SessionTable.use($0, settings.limits, now: clock.now(), on: connection)
        }
        // A browser that another person uses by now keeps no session of the former one.
        let isOther = name != nil && found?.session.user != name
        if route.access == .operators, found == nil || isOther {
            guard let name else { return withoutSession(request.head) }
            return try logIn(name, request, replacing: found?.session, on: connection)
        }
        let isNew = given == nil
        let cookie = given ?? SessionCookie.fresh()
        let call = PageCall(
            request: request, parameters: asked.parameters, query: query, form: form,
            viewer: route.access == .operators
                ? found.map { PageViewer(session: $0.session, role: $0.role, zone: $0.zone) } : nil,
            cookie: cookie, settings: settings, desk: desk, origin: asked.origin,
            clock: PageClock(now: clock.now(), zone: found.flatMap { TimeZoneDatabase.zone(named: $0.zone) } ?? .utc),
            connection: connection)
        switch try answer(route, call) {
        case .page(let page):
            let response = html(
                PageFrame.document(page, call), status: page.status, retryAfter: page.retryAfter, request.head)
            return isNew ? response.setting(SessionCookie.setting(cookie, settings.address)) : response
        case .file(let name, let type, let bytes):
            return HTTPResponse(
                status: 200,
                headers: [("Content-Type", type), ("Content-Disposition", "attachment; filename=\"\(name)\"")]
                    + PageHeaders.unkept, body: bytes)
        case .redirect(let path): return .seeOther(path, headers: PageHeaders.unkept)
        case .after(let job, let path):
            waiter.wait(for: job) { _ in responder.respond(.seeOther(path, headers: PageHeaders.unkept)) }
            return nil
        case .begin(let value, let path):
            // The session that this browser had is replaced.
            if let found {
                try SessionTable.end(found.session.id, of: found.session.user, now: clock.now(), on: connection)
            }
            return HTTPResponse.seeOther(path, headers: PageHeaders.unkept)
                .setting(SessionCookie.setting(value.exposed, settings.address))
        case .end:
            return HTTPResponse.seeOther(ConsolePath.login, headers: PageHeaders.unkept)
                .setting(SessionCookie.removing(settings.address))
        }
    }

    private func answer(_ route: ConsoleRoute, _ call: PageCall) throws -> PageAnswer {
        do {
            return try route.answer(call)
        } catch let error as DeskError where call.viewer != nil {
            return .page(ErrorPage.page(error))
        }
    }

    /// Begins a session for the operator that a proxy names, and leads to the page that was asked for.
    private func logIn(
        _ name: String, _ request: HTTPRequest, replacing former: ConsoleSession?, on connection: PostgresConnection
    ) throws -> HTTPResponse {
        let head = request.head
        if RequestOrigin.isFollowed(head) { return html(PageFrame.again, status: 200, head) }
        guard isReading(head) else { return otherForm(head) }
        guard let cookie = try login.byProxy(name, settings.client(of: request), on: connection) else {
            return plain(
                403, "No operator has this name",
                "The proxy names \(name.prefix(ConsoleUserTable.nameLimit)). A colleague with a shell on the host can make"
                    + " this operator: entitled users add NAME --role ROLE.", head)
        }
        if let former { try SessionTable.end(former.id, of: former.user, now: clock.now(), on: connection) }
        return HTTPResponse.seeOther(
            ConsolePath.reading(head.target) ?? ConsolePath.home, headers: PageHeaders.unkept
        ).setting(SessionCookie.setting(cookie.exposed, settings.address))
    }

    private func otherForm(_ head: HTTPRequestHead) -> HTTPResponse {
        plain(
            403, "This form was not taken",
            "It belongs to a session that is over. Load the page again, and send it again.", head)
    }

    private func withoutSession(_ head: HTTPRequestHead) -> HTTPResponse {
        if RequestOrigin.isFollowed(head) { return html(PageFrame.again, status: 200, head) }
        let isPage = isReading(head)
        let to = isPage && head.path != ConsolePath.home.text ? ConsolePath.reading(head.target)?.text : nil
        return .seeOther(ConsolePath.login.with("to", to), headers: PageHeaders.unkept)
    }

    private func html(_ node: Node, status: Int, retryAfter: Int? = nil, _ head: HTTPRequestHead) -> HTTPResponse {
        let bytes = HTMLRenderer.document(node)
        var headers: HTTPResponse.Headers = [("Content-Type", "text/html; charset=utf-8")] + PageHeaders.unkept
        if let retryAfter { headers.append(("Retry-After", String(retryAfter))) }
        let response = HTTPResponse(status: status, headers: headers, body: bytes)
        return response.tagged(Hex.encode(Digest.sha256(bytes).prefix(16)), for: head)
    }

    private func plain(_ status: Int, _ title: String, _ text: String, retryAfter: Int? = nil, _ head: HTTPRequestHead)
        -> HTTPResponse
    {
        let page = PageFrame.plain(title) {
            Tag.h1 { title }
            Tag.p { Node.untrusted(text) }
            Tag.p { Node.link(to: ConsolePath.home) { "To the overview" } }
        }
        return html(page, status: status, retryAfter: retryAfter, head)
    }

    private func failed(_ error: any Error, _ route: ConsoleRoute, _ head: HTTPRequestHead) -> HTTPResponse {
        if let error = error as? DeskError, error.status == 503 {
            return plain(503, "Busy", "Too many requests are waiting. Try again in a few seconds.", retryAfter: 5, head)
        }
        let id = Hex.encode(SecureRandom.bytes(6))
        let fields: Logger.Fields = [
            "page": .string(route.name), "request.id": .string(id), "error": .string("\(error)"),
        ]
        if let error = error as? PostgresError, error.isRetryable {
            logger.warning("console page not answered", fields)
            return plain(
                503, "The database is not available", "Trying again may help. Request \(id).", retryAfter: 5, head)
        }
        logger.error("console page failed", fields)
        return plain(
            500, "This page failed", "The log has the reason under request \(id). Trying again does not help.", head)
    }

    // MARK: - Reports of browsers

    /// Counts what browsers did not load because the page's policy forbids it, and logs it once a minute.
    private func report(_ request: HTTPRequest) -> HTTPResponse {
        guard request.body.count <= ConsolePages.reportLimit else { return text(413, "Not read.") }
        metrics.count(.consoleReports)
        let count: Int? = reports.withLock { state in
            state.count += 1
            if let at = state.loggedAt, .now - at < .seconds(60) { return nil }
            defer { state = (0, .now) }
            return state.count
        }
        if let count {
            let (directive, origin) = ConsolePages.blocked(request.body)
            logger.warning(
                "console content blocked",
                ["count": .int(Int64(count)), "directive": .string(directive), "origin": .string(origin)])
        }
        return HTTPResponse(status: 204, headers: PageHeaders.unkept)
    }

    /// The directive that was violated, and where the content is from. Paths may name customers, and are left out.
    private static func blocked(_ body: [UInt8]) -> (directive: String, origin: String) {
        let report = (try? JSON(parsing: body, deepest: 8))?["csp-report"]
        let directive = report?["effective-directive"]?.stringValue ?? report?["violated-directive"]?.stringValue ?? ""
        let parts = (report?["blocked-uri"]?.stringValue ?? "").split(separator: "/", omittingEmptySubsequences: false)
        let origin = parts.count >= 3 ? parts.prefix(3).joined(separator: "/") : String(parts.first ?? "")
        func short(_ text: String) -> String { String(text.prefix { $0 != "?" && $0 != "#" }.prefix(100)) }
        return (short(directive), short(origin))
    }

    private static func isLocal(_ address: String) -> Bool {
        switch IPAddress(parsing: address)?.unmapped {
        case .v4(let bits): bits >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        case nil: false
        }
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
