import Accounts
import Base
import Crypto
import Database
import HTTP
import Operator
import Postgres
import TestSupport
import Testing

@testable import Console

/// Every route that there is × every role and every caller who is none.
@Suite("Access to the console and the operator API")
struct AccessMatrixTests {
    private let console: RunningConsole

    init() throws {
        console = try RunningConsole()
        for role in OperatorRole.allCases { try console.addUser(role.rawValue, role) }
    }

    // MARK: - Callers

    private func cookie(of role: OperatorRole) throws -> String {
        try console.onHost { connection in
            try SessionTable.begin(
                for: role.rawValue, address: "127.0.0.1", browser: "test", isByLink: true, now: console.clock.now(),
                on: connection
            ).token.exposed
        }
    }

    private func key(of role: OperatorRole, until: Int64? = nil) throws -> String {
        let made = try console.onHost { connection in
            try OperatorKeyTable.create(
                for: role.rawValue, role, until: until, now: console.clock.now(), on: connection)
        }
        return try #require(made?.key.exposed)
    }

    private func send(_ method: String, _ path: String, _ headers: [String: String], _ body: String = "") -> HTTPCall {
        var headers = headers
        headers["Host"] = headers["Host"] ?? "localhost:\(console.port)"
        let call = HTTPCall.send(method, path, headers: headers, body: Array(body.utf8), to: console.port)
        checkHeaders(call, "\(method) \(path)")
        return call
    }

    /// No answer may be shown in a frame of another site, taken for another type, or kept.
    private func checkHeaders(_ call: HTTPCall, _ what: String) {
        #expect(call.status != 0, "\(what)")
        #expect(call.header("x-content-type-options") == "nosniff", "\(what) \(call.status)")
        #expect(call.header("cache-control") != nil, "\(what) \(call.status)")
        #expect(call.header("access-control-allow-origin") == nil, "\(what)")
        guard what.contains(" /console") else { return }
        #expect(call.header("x-frame-options") == "DENY", "\(what) \(call.status)")
        #expect(
            call.header("content-security-policy")?.contains("frame-ancestors 'none'") == true, "\(what) \(call.status)"
        )
    }

    private func page(
        _ method: String, _ path: String, cookie: String?, token: String? = nil, headers: [String: String] = [:]
    ) -> HTTPCall {
        var all = headers
        if let cookie { all["Cookie"] = "entitled-local=\(cookie)" }
        guard method == "POST" else { return send(method, path, all) }
        let sent = [
            "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin",
            "Origin": "http://localhost:\(console.port)",
        ].merging(all) { $1 }
        return send(method, path, sent.filter { !$0.value.isEmpty }, token.map { "token=\($0)" } ?? "a=b")
    }

    private func token(_ path: String, _ cookie: String) throws -> String {
        FormToken.make(try #require(ConsolePath.reading(path)), cookie: cookie)
    }

    /// A path with values that name nothing.
    private func path(_ name: String) -> String {
        guard name != "/search" else { return "/console/search?q=none" }
        return "/console"
            + name.split(separator: "/").map { part in
                switch part {
                case "ENV": "/Sandbox"
                case "NUMBER": "/999999"
                case "KIND": "/grant"
                case "NAME": "/active"
                default: part.allSatisfy(\.isUppercase) ? "/none" : "/\(part)"
                }
            }.joined()
    }

    private func isLogin(_ call: HTTPCall) -> Bool {
        call.status == 303 && call.header("location")?.hasPrefix("/console/login") == true
    }

    /// Rows of the table, with one for each kind of change.
    private var pageRows: [(method: String, path: String, roles: Set<OperatorRole>?)] {
        let fixed = AccessTable.pages.map { name, access -> (String, String, Set<OperatorRole>?) in
            let parts = name.split(separator: " ").map(String.init)
            guard case .roles(let roles) = access else { return (parts[0], path(parts[1]), nil) }
            return (parts[0], path(parts[1]), roles)
        }
        let changes = AccessTable.changes.flatMap { kind, roles -> [(String, String, Set<OperatorRole>?)] in
            guard let roles else { return [] }
            return ["GET", "POST"].map { ($0, "/console/changes/new/\(kind.rawValue)", roles) }
        }
        let many = AccessTable.many.flatMap { kind, roles -> [(String, String, Set<OperatorRole>?)] in
            ["GET", "POST"].map { ($0, "/console/changes/many/\(kind)", roles) }
        }
        return (fixed + changes + many).sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map {
            (method: $0.0, path: $0.1, roles: $0.2)
        }
    }

    // MARK: - Pages

    @Test("the table has every page, every form, every change and every path of the API, and no other")
    func isComplete() {
        let names = Set(console.pages.routes.map { "\($0.method) \($0.name)" })
        let forms = ["/changes/new/KIND", "/changes/many/KIND"].flatMap { ["GET \($0)", "POST \($0)"] }
        #expect(names == Set(AccessTable.pages.keys).union(forms))
        #expect(Set(AccessTable.many.keys) == Set(BulkRequest.allCases.map(\.rawValue)))
        #expect(Set(AccessTable.changes.keys) == Set(ChangeKind.allCases))
        for kind in ChangeKind.allCases where AccessTable.changes[kind] == .some(nil) { #expect(kind.isBulk) }
        let root = "/operator/v1"
        let api =
            OperatorRoute.all.map { "GET \($0.path.dropFirst(root.count))" }
            + (ChangeRoute.all + [.jobs]).map { "\($0.method) \($0.path.dropFirst(root.count))" }
        #expect(Set(api) == Set(AccessTable.api.keys))
        #expect(api.count == AccessTable.api.count)
    }

    @Test("each role gets its pages and forms, and is refused all others", arguments: OperatorRole.allCases)
    func keepsRoles(role: OperatorRole) throws {
        for row in pageRows {
            let cookie = try cookie(of: role)
            let answer = page(
                row.method, row.path, cookie: cookie, token: row.method == "POST" ? try token(row.path, cookie) : nil)
            let what = "\(role) \(row.method) \(row.path): \(answer.status)"
            let isAllowed = row.roles?.contains(role) ?? true
            // A log-in with a wrong password is refused to everybody.
            guard row.path != "/console/login" || row.method == "GET" else { continue }
            #expect((answer.status == 403) == !isAllowed, "\(what)")
            #expect(answer.status < 500, "\(what)")
            if row.path != "/console/logout" { #expect(!isLogin(answer), "\(what)") }
        }
        for kind in ChangeKind.allCases where AccessTable.changes[kind] == .some(nil) {
            let answer = page("GET", "/console/changes/new/\(kind.rawValue)", cookie: try cookie(of: role))
            #expect([403, 404].contains(answer.status), "\(kind)")
        }
    }

    @Test("whoever has no session that lives gets the log-in alone")
    func needsSessions() throws {
        let ended = try cookie(of: .operator)
        try console.onHost { connection in
            _ = try SessionTable.end(nil, of: "operator", now: console.clock.now(), on: connection)
        }
        let fresh = SessionCookie.fresh()
        let key = try key(of: .operator)
        let callers: [(name: String, cookie: String?, headers: [String: String])] = [
            ("no cookie", nil, [:]), ("an ended session", ended, [:]), ("a cookie of no session", fresh, [:]),
            ("a cookie that is none", "x", [:]), ("a key of the API", nil, ["Authorization": "Bearer \(key)"]),
            ("a key as cookie", key, [:]),
        ]
        for row in pageRows {
            for caller in callers {
                let made = row.method == "POST" ? try caller.cookie.map { try token(row.path, $0) } : nil
                let answer = page(
                    row.method, row.path, cookie: caller.cookie, token: made,
                    headers: caller.headers)
                let what = "\(caller.name) \(row.method) \(row.path): \(answer.status)"
                if row.roles == nil {
                    #expect(answer.status < 500, "\(what)")
                } else if row.method == "POST", Base64.decodeURL((caller.cookie ?? "").utf8)?.count != 32 {
                    // Without a cookie no form can be of this browser.
                    #expect(answer.status == 403, "\(what)")
                } else {
                    #expect(isLogin(answer), "\(what)")
                }
            }
        }
        #expect(!console.log.text.contains("console page failed"))
    }

    @Test("a form is taken by its method, from its page, its site and its session alone")
    func refusesForgery() throws {
        let (own, other) = (try cookie(of: .operator), try cookie(of: .operator))
        let origin = "http://localhost:\(console.port)"
        for row in pageRows where row.method == "POST" {
            let right = try token(row.path, own)
            let wrong: [(name: String, token: String?, headers: [String: String])] = [
                ("no token", nil, [:]), ("another session's token", try token(row.path, other), [:]),
                ("another form's token", try token("/console/other", own), [:]),
                ("a cut token", String(right.dropLast()), [:]),
                ("another origin", right, ["Origin": "https://evil.example"]),
                ("another port", right, ["Origin": "http://localhost:1"]),
                ("another scheme", right, ["Origin": "https://localhost:\(console.port)"]),
                ("another site", right, ["Sec-Fetch-Site": "cross-site"]),
                ("a neighbouring site", right, ["Sec-Fetch-Site": "same-site"]),
                ("a bookmark", right, ["Sec-Fetch-Site": "none"]),
                ("another site without an origin", right, ["Sec-Fetch-Site": "cross-site", "Origin": "null"]),
                ("nothing that says where it is from", right, ["Sec-Fetch-Site": "", "Origin": ""]),
                ("an origin that is none", right, ["Sec-Fetch-Site": "", "Origin": "null"]),
            ]
            for attempt in wrong {
                let answer = page("POST", row.path, cookie: own, token: attempt.token, headers: attempt.headers)
                #expect(answer.status == 403, "\(row.path) with \(attempt.name): \(answer.status)")
            }
            let json = page(
                "POST", row.path, cookie: own, token: right,
                headers: ["Content-Type": "application/json", "Origin": origin])
            #expect(json.status == 415, "\(row.path) as JSON: \(json.status)")
            let strange = send(
                "POST", row.path, ["Host": "evil.example", "Cookie": "entitled-local=\(own)"], "token=\(right)")
            #expect(strange.status == 421, "\(row.path) by another host")
        }
        // None of them did anything.
        #expect(page("GET", "/console/me", cookie: own).status == 200)
        #expect(page("GET", "/console/me", cookie: other).status == 200)
        let methods = Dictionary(grouping: pageRows, by: \.path).mapValues { Set($0.map(\.method)) }
        for (path, known) in methods {
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] where !known.contains(method) {
                let answer = page(method, path, cookie: own, token: try token(path, own))
                #expect(answer.status == 405, "\(method) \(path): \(answer.status)")
            }
        }
    }

    // MARK: - The API

    private var apiRows: [(method: String, path: String, roles: Set<OperatorRole>)] {
        AccessTable.api.compactMap { name, access in
            guard case .roles(let roles) = access else { return nil }
            let parts = name.split(separator: " ").map(String.init)
            let path = parts[1].replacing("{environment}", with: "Sandbox").replacing("{n}", with: "999999")
                .replacing("{name}", with: "active").replacing("/jobs/{id}", with: "/jobs/999999")
                .replacing(#/\{[a-z]+\}/#, with: "none")
            return (parts[0], "/operator/v1\(path)", roles)
        }
    }

    private func ask(
        _ method: String, _ path: String, key: String?, headers: [String: String] = [:]
    ) -> HTTPCall {
        var headers = headers
        if let key { headers["Authorization"] = "Bearer \(key)" }
        let isChange = method != "GET"
        if isChange { headers["Idempotency-Key"] = Hex.encode(SecureRandom.bytes(8)) }
        return send(method, path, headers, isChange ? #"{"reason": "test"}"# : "")
    }

    @Test("each role gets its paths of the API, and is refused all others", arguments: OperatorRole.allCases)
    func keepsRolesOfKeys(role: OperatorRole) throws {
        let key = try key(of: role)
        for row in apiRows {
            let answer = ask(row.method, row.path, key: key)
            let what = "\(role) \(row.method) \(row.path): \(answer.status) \(answer.text)"
            #expect((answer.status == 403) == !row.roles.contains(role), "\(what)")
            #expect(answer.status < 500 && answer.status != 401, "\(what)")
        }
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test("without a key that lives no path of the API answers, and methods are not exchanged")
    func needsKeys() throws {
        let past = try key(of: .operator, until: console.clock.now())
        let revoked = try key(of: .operator)
        let live = try key(of: .operator)
        let cookie = try cookie(of: .operator)
        try console.database.execute(
            "UPDATE entitled.operator_key SET ended_ms = 1 WHERE hash = $1",
            [.bytea(Digest.sha256(Array(revoked.utf8)))])
        let backend = try console.onHost { connection in
            try APIKeyTable.create(
                .secret, app: "demo", scope: "write", name: nil, now: console.clock.now(), on: connection
            ).key.exposed
        }
        let callers: [(name: String, key: String?, headers: [String: String])] = [
            ("no key", nil, [:]), ("a key that is over", past, [:]), ("a revoked key", revoked, [:]),
            ("an unknown key", "op_" + String(repeating: "a", count: 43), [:]), ("a key of a backend", backend, [:]),
            ("a session", nil, ["Cookie": "entitled-local=\(cookie)"]),
            ("a session as key", cookie, [:]), ("a key in the query", nil, [:]),
        ]
        for row in apiRows {
            for caller in callers {
                let path = row.path + (caller.name == "a key in the query" ? "?key=\(live)" : "")
                let answer = ask(row.method, path, key: caller.key, headers: caller.headers)
                #expect(answer.status == 401, "\(caller.name) \(row.method) \(row.path): \(answer.status)")
            }
            let web = ask(row.method, row.path, key: live, headers: ["Origin": "http://localhost:\(console.port)"])
            #expect(web.status == 403, "\(row.method) \(row.path) from a page: \(web.status)")
        }
        let methods = Dictionary(grouping: apiRows, by: \.path).mapValues { Set($0.map(\.method)) }
        for (path, known) in methods {
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] where !known.contains(method) {
                #expect(ask(method, path, key: live).status == 405, "\(method) \(path)")
            }
        }
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    // MARK: - Log-in

    @Test("a cookie from before the log-in opens nothing after it")
    func refusesFixation() throws {
        let link = try console.link(for: "support")
        let attacker = TestBrowser(console)
        attacker.open("/console/login")
        let planted = try #require(attacker.cookie)
        let victim = TestBrowser(console)
        // The attacker's cookie is planted in the victim's browser.
        victim.plant(cookie: planted)
        victim.open(link)
        try victim.submit(link)
        #expect(victim.open("/console/me").text.contains("Sessions"))
        #expect(victim.cookie != planted)
        #expect(attacker.cookie == planted)
        #expect(attacker.open("/console/me").text.contains("Log in to entitled"))
        // One more log-in in the same browser ends the session before.
        let before = victim.cookie
        let second = try console.link(for: "support")
        victim.open(second)
        try victim.submit(second)
        #expect(victim.cookie != before)
        let thief = TestBrowser(console)
        thief.plant(cookie: before)
        #expect(thief.open("/console/me").text.contains("Log in to entitled"))
    }

    @Test("an unknown name reads as a wrong password, costs the same time, and waits the same")
    func tellsNoNames() throws {
        try console.addUser("anna", password: "correct horse battery")
        func attempt(_ name: String) throws -> (answer: HTTPCall, time: Duration) {
            let browser = TestBrowser(console)
            browser.open("/console/login")
            let began = ContinuousClock.now
            let answer = try browser.submit("/console/login", ["name": name, "password": "wrong password"])
            return (answer, .now - began)
        }
        func shown(_ call: HTTPCall, _ name: String) -> String {
            call.text.replacing(name, with: "NAME").replacing(#/name="token" value="[^"]*"/#, with: "")
        }
        var times: (known: [Duration], unknown: [Duration]) = ([], [])
        for round in 0..<5 {
            let known = try attempt("anna")
            // Failures count a quarter of an hour.
            console.clock.advance(by: .seconds(1800))
            let name = "eve\(round)"
            let unknown = try attempt(name)
            console.clock.advance(by: .seconds(1800))
            #expect(known.answer.status == 403 && unknown.answer.status == 403)
            #expect(shown(known.answer, "anna") == shown(unknown.answer, name))
            #expect(
                known.answer.headers.map(\.name).sorted() == unknown.answer.headers.map(\.name).sorted())
            times.known.append(known.time)
            times.unknown.append(unknown.time)
        }
        // Scrypt takes most of both; a machine that does other things beside is not equally fast all the time.
        let (known, unknown) = (times.known.sorted()[2], times.unknown.sorted()[2])
        #expect(known < unknown * 2 && unknown < known * 2, "\(known) \(unknown)")
        // An unknown name is throttled as a known one is.
        for name in ["anna", "nobody"] {
            console.clock.advance(by: .seconds(1800))
            let browser = TestBrowser(console)
            browser.open("/console/login")
            var statuses: [Int] = []
            for _ in 0..<6 {
                statuses.append(
                    try browser.submit("/console/login", ["name": name, "password": "wrong password"]).status)
            }
            #expect(statuses == [403, 403, 403, 403, 403, 429], "\(name)")
        }
    }

    // MARK: - The role of the database

    /// Columns that hold what opens something, or may: bytes, and what the names say.
    private static let suspicious = """
        SELECT c.relname || '.' || a.attname AS name,
            has_column_privilege('entitled_console', c.oid, a.attnum, 'SELECT') AS reads
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition
            AND a.attnum > 0 AND NOT a.attisdropped
            AND (a.atttypid = 'bytea'::regtype
                OR a.attname ~ '(secret|sealed|password|salt|hash|token|private|credential|fingerprint|^key$|_key$|cookie)')
        ORDER BY 1
        """

    /// What the console reads of them, each with the reason.
    private static let readable: Set<String> = [
        // What Apple signed, and what was folded of it.
        "fact.payload", "fact.signature", "jws_header.header", "notification.payload", "notification.signature",
        "notification_key.key", "purchase.claims", "purchase_fold.state", "purchase_fold.tail",
        "purchase_snapshot.body",
        "report_purchase.history",
        // What consumers got and answered, and by which keys they check it.
        "event.body", "attempt.head", "attempt.response", "endpoint_secret.public_key",
        // By which it decides who calls: hashes alone.
        "console_user.password", "console_session.hash", "console_link.hash", "console_try.subject",
        "operator_key.hash",
        // Names of keys, of sessions and of changes, which open nothing.
        "audit.credential", "job.credential", "job.idempotency_key", "job.request_hash", "customer_attribute.key",
        "owner_setting.uses_tokens",
        // Without its salt, which the role does not read, it names no customer.
        "deletion_id.hash",
        // A public half: operators' secrets are sealed to it.
        "sealing_key.intake_key",
    ]

    @Test("the role of the console reads no column with a secret or a key but the hashes that it decides by")
    func readsNoSecrets() throws {
        let rows = try console.database.connect().query(Self.suspicious)
        var (reads, all) = (Set<String>(), Set<String>())
        for row in rows {
            let name = try row.text("name")
            all.insert(name)
            if try row.bool("reads") { reads.insert(name) }
        }
        #expect(all.count > 20)
        #expect(reads == Self.readable)
        for name in [
            "endpoint_secret.sealed", "endpoint.authorization_sealed", "endpoint.headers_sealed", "api_key.hash",
            "deletion_salt.salt", "owner_salt.salt", "sealing_key.fingerprint",
        ] {
            #expect(all.contains(name) && !reads.contains(name), "\(name)")
        }
    }
}
