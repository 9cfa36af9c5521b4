import API
import Base
import Daemon
import Database
import EntitledApp
import FoundationEssentials
import HTTP
import Postgres
import TestSupport
import Testing

/// Who may call what, over every route that the process has: one that is new is here without being named.
struct EveryRouteTests {
    /// What everybody may call. All else that is open says that it is not supported.
    private static let open = [
        "GET /v1/health", "GET /v1/subscribers/{app_user_id}/health_report_availability", "POST /v1/events",
        "POST /v1/diagnostics", "GET /openapi.yaml",
    ]
    private static let publicKey = "appl_of_the_configuration"
    private static let secretKey = "sk_of_the_configuration"

    private let cluster: TestCluster
    private let database: TestDatabase
    private let handler: APIRoutes
    private let services: [any Service]
    private let revoked: String
    private let reading: String

    init() throws {
        cluster = try TestCluster.shared
        database = try cluster.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_worker")
        func make(_ scope: String) throws -> (id: String, key: Redacted<String>) {
            try APIKeyTable.create(.secret, app: nil, scope: scope, name: nil, now: 1, on: connection)
        }
        let gone = try make("write")
        _ = try APIKeyTable.revoke(gone.id, now: 2, on: connection)
        (revoked, reading) = (gone.key.exposed, try make("read").key.exposed)
        let configuration = try ConfigurationFixture().parse(
            """
            { database: { url: "\(database.url)" }, api: { cors_origins: ["*"],
                public_keys: ["\(EveryRouteTests.publicKey)"], secret_keys: ["\(EveryRouteTests.secretKey)"] } }
            """)
        let role = try APIRole(configuration, url: database.url)
        (handler, services) = (role.handler, role.services)
        for service in services { try service.start() }
    }

    private struct Answer {
        let route: String
        let status: Int
        let code: Int64?
        let type: String?

        /// Whether the key is refused, in the form of the version of the API.
        func isRefused(_ status: Int, code: Int64) -> Bool {
            guard self.status == status else { return false }
            guard route.contains(" /v2/") else { return self.code == code }
            return type == (status == 401 ? "authentication_error" : "authorization_error")
        }
    }

    /// Asks all at once, as the server does: with the head alone, then with the whole request.
    private func answers(
        _ routes: [APIRoute], _ key: String?, _ headers: [(name: String, value: String)] = []
    ) -> [Answer] {
        let found = Monitor<[Int: HTTPResponse]>([:])
        for (number, route) in routes.enumerated() {
            let path = route.path.replacing(/\{[a-z_]+\}/, with: "somebody")
            let head = HTTPRequestHead(
                method: route.method, target: path,
                headers: headers + (key.map { [(name: "authorization", value: "Bearer \($0)")] } ?? []))
            if let refusal = handler.refuse(head) {
                found.change { $0[number] = refusal }
            } else {
                handler.handle(
                    HTTPRequest(head: head), HTTPResponder { response in found.change { $0[number] = response } })
            }
        }
        let all = found.wait(timeout: .seconds(60)) { $0.count == routes.count ? $0 : nil } ?? [:]
        return routes.enumerated().map { number, route in
            let body = all[number].flatMap { try? JSON(parsing: $0.body) }
            return Answer(
                route: "\(route.method) \(route.path)", status: all[number]?.status ?? 0, code: body?["code"]?.intValue,
                type: body?["type"]?.stringValue)
        }
    }

    private func stop() {
        for service in services { service.drain(until: .now + .seconds(5)) }
    }

    private var keyed: [APIRoute] { handler.routes.filter { $0.access != .open } }

    @Test func `nothing is open but what is meant to be`() {
        defer { stop() }
        let routes = handler.routes.filter { $0.access == .open }
        for answer in answers(routes, nil) where !EveryRouteTests.open.contains(answer.route) {
            #expect(answer.status == 404, "\(answer.route)")
        }
        #expect(routes.count > EveryRouteTests.open.count && keyed.count > 5)
    }

    @Test func `the api hands out its contract, as it is in the repository, to everybody`() throws {
        defer { stop() }
        let answer = Monitor<HTTPResponse?>(nil)
        handler.handle(
            HTTPRequest(head: HTTPRequestHead(method: "GET", target: "/openapi.yaml")),
            HTTPResponder { response in answer.change { $0 = response } })
        let response = try #require(answer.wait(timeout: .seconds(30)) { $0 })
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let file = try #require(FileManager.default.contents(atPath: "/\(root)/schemas/openapi.yaml"))
        #expect(response.status == 200 && response.body == Array(file))
        #expect(response.headers.contains { $0 == ("Content-Type", "application/yaml") })
    }

    @Test func `no key, a wrong one and a revoked one are 401 everywhere`() {
        defer { stop() }
        for key in [nil, "", "appl_of_nobody", revoked, "sk_of_the_configuratioN"] {
            for answer in answers(keyed, key) {
                #expect(answer.isRefused(401, code: 7225), "\(answer.route) with \(key ?? "none")")
            }
        }
    }

    @Test func `a public key is 403 where a secret one is needed`() {
        defer { stop() }
        let routes = keyed.filter { if case .secretKey = $0.access { true } else { false } }
        #expect(!routes.isEmpty)
        for answer in answers(routes, EveryRouteTests.publicKey) {
            #expect(answer.isRefused(403, code: 7225), "\(answer.route)")
        }
    }

    @Test func `a key that may read is 403 where something is written, and nowhere else`() {
        defer { stop() }
        let writing = keyed.filter { $0.access == .secretKey(.write) || $0.access == .anyWritingKey }
        let paths = Set(writing.map(\.path))
        for path in ["/v1/receipts", "/v1/subscribers/identify", "/v1/subscribers/{app_user_id}/alias"] {
            #expect(paths.contains(path))
        }
        for answer in answers(writing, reading) {
            #expect(answer.isRefused(403, code: 7225), "\(answer.route)")
        }
        for answer in answers(keyed.filter { $0.access == .secretKey(.read) || $0.access == .anyKey }, reading) {
            #expect(answer.status != 401 && answer.status != 403, "\(answer.route)")
        }
    }

    /// What a call of each route may come to with a key that may only read: all that such a key gets is read.
    private static let reads: Set = [
        "GET /v1/subscribers/{app_user_id}", "GET /v1/subscribers/{app_user_id}/export",
        "GET /v1/subscribers/{app_user_id}/virtual_currencies", "GET /v1/product_entitlement_mapping",
        "GET /v1/customercenter/{app_user_id}",
        "POST /v1/subscribers/{app_user_id}/intro_eligibility", "POST /v1/offers",
        "POST /v1/subscribers/{app_user_id}/restore/eligibility", "GET /v2/projects",
        "GET /v2/projects/{project_id}/entitlements", "GET /v2/projects/{project_id}/entitlements/{entitlement_id}",
        "GET /v2/projects/{project_id}/offerings", "GET /v2/projects/{project_id}/offerings/{offering_id}",
        "GET /v2/projects/{project_id}/metrics/overview", "GET /v2/projects/{project_id}/customers",
        "GET /v2/projects/{project_id}/customers/{customer_id}",
        "GET /v2/projects/{project_id}/customers/{customer_id}/active_entitlements",
        "GET /v2/projects/{project_id}/customers/{customer_id}/subscriptions",
        "GET /v2/projects/{project_id}/customers/{customer_id}/purchases",
        "GET /v2/projects/{project_id}/customers/{customer_id}/aliases",
        "GET /v2/projects/{project_id}/customers/{customer_id}/attributes",
    ]

    @Test func `a key that may only read changes no row of any table, whatever it calls`() throws {
        defer { stop() }
        let before = try rows()
        #expect(before.count > 30)
        let allowed = answers(keyed, reading).filter { $0.status != 403 }
        #expect(Set(allowed.map(\.route)) == EveryRouteTests.reads)
        let get = keyed.filter { $0.method == "GET" && $0.path == "/v1/subscribers/{app_user_id}" }
        #expect(answers(get, reading).map(\.status) == [200])
        // One that may write makes the customer, which shows that no call before did.
        #expect(answers(get, EveryRouteTests.secretKey).map(\.status) == [201])
        // The services write what they still have to note before they end.
        stop()
        let after = try rows()
        let changed = after.filter { $0.value != before[$0.key] }
        #expect(changed.mapValues(\.count) == ["app_user_id": 1, "customer": 1])
    }

    /// Every row of every table, but for when keys were used.
    private func rows() throws -> [String: [String]] {
        let connection = try database.connect()
        var rows: [String: [String]] = [:]
        for table in try DatabaseScan(database).tables() {
            let row = table == "api_key" ? "(t.id, t.revoked_ms)::text" : "t::text"
            rows[table] = try connection.query("SELECT \(row) FROM entitled.\(table) t ORDER BY 1").map {
                try $0.text(0)
            }
        }
        return rows
    }

    @Test func `a secret key in an app or on a page of another origin is 403 everywhere, and names its code`() {
        defer { stop() }
        let apps: [[(name: String, value: String)]] = [
            [("x-client-bundle-id", "com.example.app")], [("x-version", "5.1"), ("x-platform-version", "17.0")],
            [("origin", "https://example.com"), ("host", "api.example.com")],
        ]
        for headers in apps {
            for answer in answers(keyed, EveryRouteTests.secretKey, headers) {
                #expect(answer.isRefused(403, code: 7243), "\(answer.route)")
            }
        }
    }

    @Test func `what only apps may ask is refused to a secret key, and what a backend may is not`() {
        defer { stop() }
        let platform: [(name: String, value: String)] = [("x-platform", "ios")]
        for answer in answers(keyed.filter { $0.access == .publicKey }, EveryRouteTests.secretKey, platform) {
            #expect(answer.isRefused(403, code: 7243), "\(answer.route)")
        }
        for answer in answers(keyed.filter { $0.access != .publicKey }, EveryRouteTests.secretKey, platform) {
            #expect(answer.status != 401 && answer.status != 403, "\(answer.route)")
        }
    }
}
