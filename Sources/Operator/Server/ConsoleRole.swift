import Base
import Daemon
import HTTP
import Postgres

/// What the console role needs to know.
package struct ConsoleSettings: Sendable {
    package var desk: DeskSettings
    /// Of which clients' addresses are told.
    package var proxies: TrustedProxies
    /// What `/operator/v1/openapi.yaml` gives.
    package var openAPI: [UInt8]

    package init(desk: DeskSettings, proxies: TrustedProxies = TrustedProxies(), openAPI: [UInt8] = []) {
        self.desk = desk
        self.proxies = proxies
        self.openAPI = openAPI
    }
}

/// What pages need to answer requests.
package struct ConsoleParts: Sendable {
    package let settings: ConsoleSettings
    package let threads: DeskThreads
    package let changes: ChangeDesk
    package let waiter: ChangeWaiter
    /// For what operators asked for.
    package let room: WaitingRoom
    package let clock: any WallClock
    package let logger: Logger
    package let metrics: Metrics
}

/// What works behind the console's listener; the program and the tests make it the same way.
package struct ConsoleRole: Sendable {
    package let handler: any HTTPHandler
    /// In the order in which they drain, once the listener has.
    package let services: [any Service]
    private let probe: DatabaseProbe

    /// Connections, each with a thread of its own.
    private static let threads = 4
    /// Of them, so many may wait for numbers that are counted, and so many for what operators asked for: secrets, and names that
    /// are looked up.
    private static let (mostCounting, mostAsked) = (2, 1)
    /// How long one statement may stay unanswered; longer than the statement timeout of the role.
    package static let patience = Duration.seconds(5)
    /// How long a request may stay unanswered.
    private static let answerTimeout = Duration.seconds(20)
    /// Bytes of a request's body: of forms; the API has none.
    private static let longestBody = 64 << 10

    /// - Parameter pages: makes what answers all paths but those of the API and of health; none: they are 404.
    package init(
        _ settings: ConsoleSettings, _ process: ProcessContext,
        pages: (ConsoleParts) throws -> (any HTTPHandler)? = { _ in nil }
    ) throws {
        let threads = try DeskThreads(
            name: "console", count: ConsoleRole.threads, waitingLimit: 256, patience: ConsoleRole.answerTimeout,
            busy: .unavailable("Too many requests are waiting.")
        ) { try process.session(patience: ConsoleRole.patience) }
        let probe = DatabaseProbe(
            name: "console-probe", session: try process.session(patience: DatabaseProbe.patience),
            check: ConsoleRole.obstacle)
        let (room, counting) = (WaitingRoom(limit: ConsoleRole.mostAsked), WaitingRoom(limit: ConsoleRole.mostCounting))
        let waiter = ChangeWaiter(session: try process.session(patience: ConsoleRole.patience), logger: process.logger)
        let charts = ChartReader(
            session: try process.session(patience: ConsoleRole.patience), logger: process.logger, room: counting)
        var settings = settings
        settings.desk.charts.reader = charts
        let reports = ReportReader(
            session: try process.session(patience: ConsoleRole.patience), foldSettings: settings.desk.foldSettings,
            zone: settings.desk.charts.zone, zoneName: settings.desk.charts.zoneName, logger: process.logger,
            room: counting)
        settings.desk.reports = reports
        let changes = ChangeDesk(settings.desk)
        let parts = ConsoleParts(
            settings: settings, threads: threads, changes: changes, waiter: waiter, room: room, clock: process.clock,
            logger: process.logger, metrics: process.metrics)
        let api = OperatorAPI(
            settings, threads: threads, changes: changes, waiter: waiter, clock: process.clock, logger: process.logger,
            metrics: process.metrics)
        handler = ConsoleListener(api: api, health: ConsoleRole.health(probe), pages: try pages(parts))
        services = [threads, waiter, charts, reports, probe]
        self.probe = probe
    }

    package func unreadyReasons() -> [String] { probe.obstacle.map { [$0] } ?? [] }

    package static func listener(on address: String) -> HTTPServerConfiguration {
        var settings = HTTPServerConfiguration(role: "console", listen: address, maxBodyBytes: longestBody)
        settings.answerTimeout = answerTimeout
        return settings
    }

    private static func obstacle(_ connection: PostgresConnection) throws -> String? {
        do {
            _ = try connection.query("SELECT FROM entitled.console_user LIMIT 1")
            return nil
        } catch  where error.sqlstate == "42P01" {
            return "the database has no users yet: run `entitled migrate`"
        }
    }

    /// For load balancers.
    private static func health(_ probe: DatabaseProbe) -> Router {
        var router = Router()
        router.on("GET", "/healthz") { _, responder in
            responder.respond(.json(200, .object(["status": .string("ok"), "version": .string(Version.current)])))
        }
        router.on("GET", "/readyz") { _, responder in
            let obstacle = probe.obstacle
            responder.respond(
                .json(
                    obstacle == nil ? 200 : 503,
                    .object([
                        "status": .string(obstacle == nil ? "ready" : "not ready"),
                        "reasons": obstacle.map { .strings([$0]) },
                    ])))
        }
        return router
    }
}

/// Hands requests to the API, to health, or to pages, by their paths.
private struct ConsoleListener: HTTPHandler {
    let api: OperatorAPI
    let health: Router
    let pages: (any HTTPHandler)?

    private func handler(of path: String) -> any HTTPHandler {
        if OperatorAPI.isOne(path) { return api }
        // Without pages its 404 is for all other paths, too.
        if path == "/healthz" || path == "/readyz" { return health }
        return pages ?? health
    }

    func refuse(_ head: HTTPRequestHead) -> HTTPResponse? { handler(of: head.path).refuse(head) }

    func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        handler(of: request.head.path).handle(request, responder)
    }
}
