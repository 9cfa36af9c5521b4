import Accounts
import Base
import Console
import Daemon
import Database
import Duties
import HTTP
import Operator
import Postgres
import Schemas
import Subscriptions
import TestSupport

/// The console's pages behind a listener of this process, as the role that they have in production.
final class RunningConsole: Sendable {
    static let start: Int64 = 1_790_000_000_000

    let database: TestDatabase
    let clock = ManualClock(RunningConsole.start)
    let log = LogTape()
    let metrics = Metrics()
    private let cluster: TestCluster
    private let services: [any Service]
    let pages: ConsolePages
    private let server: HTTPServer
    let port: UInt16

    /// - Parameter settings: texts of the configuration in force.
    init(
        _ address: ConsoleAddress = .loopback, settings: [ShownSetting] = [], proxyLogin: ProxyLogin? = nil
    ) throws {
        let cluster = try TestCluster.shared
        let database = try cluster.makeMigratedDatabase()
        (self.cluster, self.database) = (cluster, database)
        let target = database.target(role: DatabaseRole.console.rawValue)
        let process = ProcessContext(clock: clock, logger: log.logger, metrics: metrics) { [log] prepare in
            PostgresSession(target, logger: log.logger, prepare: prepare)
        }
        var pages: ConsolePages?
        var desk = DeskSettings(
            scopes: [StoreEnvironment.production, .sandbox].map { AppScope(app: "demo", environment: $0) },
            catalogue: EntitlementCatalogue(["pro": ["monthly"]]), retrySchedule: RetrySchedule(waits: [1000, 60_000]))
        desk.inForce = settings
        (desk.refundApps, desk.serverAPIApps) = (["demo"], ["demo"])
        let role = try ConsoleRole(ConsoleSettings(desk: desk), process) { parts in
            let made = try ConsolePages(PageSettings(address: address, proxyLogin: proxyLogin), parts) {
                try process.session(patience: ConsoleRole.patience)
            }
            pages = made
            return made
        }
        guard let pages else { throw TestFailure("the console has no pages") }
        self.pages = pages
        services = [pages] + role.services
        server = HTTPServer(ConsoleRole.listener(on: "127.0.0.1:0"), handler: role.handler, logger: log.logger)
        for service in services { try service.start() }
        try server.start()
        port = server.boundPort ?? 0
    }

    deinit {
        server.drain(until: .now + .seconds(5))
        for service in services { service.drain(until: .now + .seconds(5)) }
    }

    /// Does what commands do on the host.
    func onHost<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        try body(try database.connect(role: DatabaseRole.worker.rawValue))
    }

    func addUser(_ name: String, _ role: OperatorRole = .operator, password: String? = nil) throws {
        try onHost { connection in
            _ = try ConsoleUserTable.add(name, role, now: clock.now(), on: connection)
            if let password, let hash = PasswordHash(of: Redacted(password)) {
                _ = try PasswordTable.set(hash, of: name, on: connection)
            }
        }
    }

    func link(for name: String) throws -> String {
        try onHost { connection in
            guard let link = try LoginLinkTable.create(for: name, now: clock.now(), on: connection) else {
                throw TestFailure("no user \(name)")
            }
            return "/console/link/\(link.token.exposed)"
        }
    }
}

/// A browser: keeps the cookie, and sends forms as they are on the page.
final class TestBrowser {
    /// It runs as long as a browser looks at it.
    private let console: RunningConsole
    private(set) var cookie: String?
    private(set) var page: HTTPCall?
    var host: String

    init(_ console: RunningConsole, host: String? = nil) {
        self.console = console
        self.host = host ?? "localhost:\(console.port)"
    }

    /// Asks for a page and those that it leads to.
    @discardableResult
    func open(_ path: String, headers: [String: String] = [:]) -> HTTPCall {
        keep(send("GET", path, headers: headers))
    }

    /// Has a cookie that another browser has, too.
    func plant(cookie: String?) { self.cookie = cookie }

    /// Shows a page again, as the way back does.
    func keep(page: HTTPCall?) { self.page = page }

    func send(_ method: String, _ path: String, headers: [String: String] = [:], body: String = "") -> HTTPCall {
        var headers = headers.merging(["Host": host]) { given, _ in given }
        if let cookie { headers["Cookie"] = cookie }
        return HTTPCall.send(method, path, headers: headers, body: Array(body.utf8), to: console.port)
    }

    /// Sends the form of this page that has this action, with these fields beside the hidden ones.
    @discardableResult
    func submit(_ action: String, _ fields: [String: String] = [:], headers: [String: String] = [:]) throws -> HTTPCall
    {
        guard let html = page?.text, let start = html.range(of: "action=\"\(action)\"") else {
            throw TestFailure("no form \(action) on this page:\n\(page?.text ?? "none")")
        }
        let form = html[start.upperBound...].prefix(while: { _ in true })
        let end = form.range(of: "</form>")?.lowerBound ?? form.endIndex
        var all = fields
        for match in form[..<end].matches(of: #/<input type="hidden" name="([^"]*)" value="([^"]*)"/#) {
            all[String(match.output.1)] =
                match.output.2.replacing("&lt;", with: "<").replacing("&gt;", with: ">")
                .replacing("&quot;", with: "\"").replacing("&#39;", with: "'").replacing("&amp;", with: "&").description
        }
        let body = all.map { "\(PercentEncoding.encode($0.key))=\(PercentEncoding.encode($0.value))" }
            .joined(separator: "&")
        let sent = [
            "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin",
            "Origin": "http://\(host)",
        ].merging(headers) { $1 }
        return keep(send("POST", action, headers: sent.filter { !$0.value.isEmpty }, body: body))
    }

    private func keep(_ call: HTTPCall) -> HTTPCall {
        for (name, value) in call.headers where name == "set-cookie" {
            let pair = String(value.prefix { $0 != ";" })
            cookie = pair.hasSuffix("=") ? nil : pair
        }
        if call.status == 303, let location = call.header("location") { return open(location) }
        page = call
        return call
    }
}

extension String {
    fileprivate func range(of text: String) -> Range<String.Index>? { self[...].range(of: text) }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? { firstRange(of: text) }
}

extension RunningConsole {
    /// The body, while a worker does the changes that are asked for.
    func working<Result>(_ work: ChangeWork, _ body: () throws -> Result) throws -> Result {
        let isOver = Monitor(false)
        let worker = TestThread { [database] in
            let connection = try database.connect(role: "entitled_worker")
            while !isOver.read({ $0 }) {
                if try work.next(on: connection) == nil {
                    _ = isOver.wait(timeout: .milliseconds(20)) { $0 ? true : nil }
                }
            }
        }
        defer { isOver.change { $0 = true } }
        let result = try body()
        isOver.change { $0 = true }
        try worker.value()
        return result
    }
}
