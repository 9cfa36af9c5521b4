import Base
import Database
import FoundationEssentials
import Postgres
import TestSupport
import Testing

/// Commands beside a running console: what they say by `--url` is what they say on the host.
///
/// Serialised: each test starts an installation and many commands, which take a processor.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RemoteCommandTests {
    private let scene: APIFixture
    private let consumer: Consumer
    private let endpoint: String
    private let customer: String
    private let url: String
    private let folder: String
    /// Of the role operator.
    private let key: String

    init() throws {
        scene = try APIFixture()
        consumer = try Consumer()
        endpoint = try scene.site.addEndpoint(consumer).id
        customer = try scene.makeCustomer()
        scene.call(
            "POST", "/v1/subscribers/\(customer)/attributes",
            .object([
                "attributes": .object([
                    "$email": .object(["value": .string("anna@example.com"), "updated_at_ms": .int(1_767_225_600_000)])
                ])
            ]))
        scene.call(
            "POST", "/v1/subscribers/\(customer)/entitlements/pro/promotional", .object(["duration": .string("daily")]))
        folder = scene.site.folder
        url = "http://127.0.0.1:\(try scene.consolePort())"
        try scene.site.run("users", "add", "anna", "--role", "operator")
        key = try #require(try scene.site.run("users", "key", "anna", "--json").document?["key"]?.stringValue)
        try "\(key)\n".write(toFile: "\(folder)/key", atomically: true, encoding: .utf8)
        let site = scene.site
        try eventually("every webhook is delivered") {
            try site.run("deliveries", "list", "--json").document?["deliveries"]?.arrayValue.map { rows in
                rows.count > 5 && rows.allSatisfy { $0["state"] == .string("delivered") }
            } ?? false
        }
    }

    /// By the API, without any configuration.
    private func remote(
        _ words: [String], status: Int32 = 0, key: String? = nil, url: String? = nil,
        environment: [String: String] = [:]
    ) throws -> Program {
        let file = key == nil ? ["--key-file", "\(folder)/key"] : []
        var environment = environment.merging(["ENTITLED_CONFIG": "/nowhere/entitled.json5"]) { first, _ in first }
        if let key { environment["ENTITLED_KEY"] = key }
        let program = try Program(
            words + ["--url", url ?? self.url] + file, folder: folder, environment: environment)
        let found = try program.wait()
        guard found == status else {
            throw TestFailure("\(words.joined(separator: " ")) ended with \(found): \(program.log)")
        }
        #expect(!program.log.contains(self.key) && !program.text.contains(self.key))
        return program
    }

    private func rows(_ words: String..., named name: String) throws -> [JSON] {
        try #require(try scene.site.run(words + ["--json"]).document?[name]?.arrayValue)
    }

    private func text(_ json: JSON?, _ name: String) throws -> String { try #require(json?[name]?.stringValue) }

    @Test func `documents are the same both ways, byte for byte`() throws {
        let event = try text(try rows("events", "list", named: "events").first, "id")
        let delivery = try text(try rows("deliveries", "list", named: "deliveries").first, "id")
        let uuid = try text(try rows("notifications", "list", named: "notifications").first, "uuid")
        let purchase = try text(
            try rows("purchases", "list", "--customer", customer, named: "purchases").first, "original_transaction_id")
        let commands: [[String]] = [
            ["search", customer], ["search", event], ["search", purchase], ["customers", "list"],
            ["events", "list"], ["events", "list", "--customer", customer, "--type", "RENEWAL"],
            ["events", "list", "--purchase", purchase], ["events", "show", event], ["events", "show", delivery],
            ["deliveries", "list"], ["deliveries", "list", "--endpoint", endpoint, "--state", "delivered"],
            ["deliveries", "list", "--customer", customer, "--status", "2xx"],
            ["deliveries", "list", "--event", event], ["deliveries", "show", delivery], ["deliveries", "show", event],
            ["notifications", "list"], ["notifications", "list", "--type", "DID_RENEW", "--since", "30d"],
            ["notifications", "show", uuid], ["notifications", "show", uuid, "--raw"],
            ["purchases", "list", "--customer", customer], ["purchases", "list", "--id", purchase],
            ["purchases", "list", "--status", "active"],
            ["purchases", "list", "--product", "none", "--ends-after", "7d"],
            ["purchases", "show", purchase], ["products", "list"], ["products", "list", "--unmapped"],
            ["refunds", "list"], ["jobs", "list"], ["jobs", "list", "--state", "done"], ["outages", "list"],
            ["actions", "list"], ["actions", "list", "--customer", customer], ["audit", "list"],
            ["report", "--from", "2026-01-01", "--to", "2026-07-01", "--by", "month"],
            ["report", "--from", "2026-01", "--to", "2026-03", "--app", "demo"],
        ]
        for words in commands {
            let local = try scene.site.run(words + ["--json"]).text
            let remote = try remote(words + ["--json"]).text
            #expect(remote == local, "\(words)")
            #expect(local.count > 10, "\(words)")
        }
        // Where the forms are the same, tables are too.
        for words in commands where words[1] != "show" || words[0] != "deliveries" {
            #expect(try remote(words).text == (try scene.site.run(words).text), "\(words)")
        }
    }

    @Test func `pages join without gaps, both ways with the same cursors`() throws {
        for words in [["jobs", "list"], ["actions", "list"], ["customers", "list"], ["events", "list"]] {
            let name = ["jobs", "actions"].contains(words[0]) ? "items" : words[0]
            let whole = try remote(words + ["--json"]).document?[name]?.arrayValue
            var pages: [JSON] = []
            var cursor: String?
            repeat {
                let page = try remote(words + ["--limit", "1", "--json"] + (cursor.map { ["--after", $0] } ?? []))
                    .document
                pages += try #require(page?[name]?.arrayValue)
                cursor = page?["next"]?.stringValue
            } while cursor != nil && pages.count < 3
            #expect(pages == Array((whole ?? []).prefix(pages.count)))
        }
        // More than the API has on a page.
        let database = try #require(scene.site.database)
        try database.execute(
            """
            WITH made AS (
                INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
                SELECT 'old' || n, n * 1000 FROM generate_series(1, 250) n RETURNING *
            ), kept AS (
                -- Retention removes customers without anything.
                INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
                SELECT original_app_user_id, 'kept', 'yes', first_seen_ms FROM made
            )
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            SELECT original_app_user_id, original_app_user_id, first_seen_ms FROM made
            """)
        let many = ["customers", "list", "--until", "2000-01-01", "--json"]
        #expect(try remote(many + ["--limit", "1000"]).text == (try scene.site.run(many + ["--limit", "1000"]).text))
        let rows = try remote(many + ["--limit", "230"]).document?["customers"]?.arrayValue
        #expect(rows?.count == 230 && rows?.last?["original_app_user_id"] == .string("old21"))
        let more = try remote(["events", "list", "--limit", "1"]).text
        #expect(more.contains("There are more: repeat the command with --after"))
        let page = try remote(["actions", "list", "--limit", "1", "--json"]).text
        #expect(page == (try scene.site.run("actions", "list", "--limit", "1", "--json").text))
    }

    @Test func `what has another form by URL has that of the API`() throws {
        let shown = try remote(["customers", "show", customer, "--json"]).document
        #expect(shown?["customer"]?["original_app_user_id"] == .string(customer))
        #expect(shown?["timeline"]?.arrayValue?.isEmpty == false && shown?["timeline_order"] == .string("happened"))
        for (since, isEmpty) in [("2000-01-01", false), ("2099-01-01", true)] {
            let part = try remote(["customers", "show", customer, "--since", since, "--json"]).document
            #expect(part?["timeline"]?.arrayValue?.isEmpty == isEmpty, "\(since)")
        }
        let page = try remote(["customers", "show", customer]).text
        for part in ["ENTITLEMENTS", "pro  ", "PURCHASES", "WHAT HAPPENED", "anna@example.com"] {
            #expect(page.contains(part), "\(page)")
        }
        let list = try remote(["endpoints", "list", "--json"]).document?["endpoints"]?.arrayValue
        #expect(list?.contains { $0["id"] == .string(endpoint) } == true)
        #expect(try remote(["endpoints", "show", endpoint, "--json"]).document?["backlog"]?["pending"] != nil)
        #expect(try remote(["endpoints", "show", endpoint]).text.contains("0 pending, 0 held"))
        let state = try remote(["status", "--json"]).document
        #expect(state?["workers"]?["items"]?.arrayValue?.count == 1)
        #expect(state?["endpoints"]?.arrayValue?.isEmpty == false)
        #expect(try remote(["status"]).text.contains("256 of 256 owned, by 1 workers"))
        #expect(try scene.site.run("status").text.contains("256 of 256 owned, by 1 workers"))
        #expect(try remote(["doctor"]).text.contains("all is well"))
        let csv = ["report", "--from", "2026-01-01", "--to", "2026-07-01", "--csv"]
        #expect(try remote(csv).text == (try scene.site.run(csv).text))
        let check = ["catalog", "check", "--json"]
        let status: Int32 = (try? scene.site.run(check)) == nil ? 1 : 0
        let (checked, afar) = (try scene.site.run(check, status: status), try remote(check, status: status))
        #expect(afar.text == checked.text && afar.document?["findings"] != nil)
    }

    @Test func `a change is asked for, done by a worker, and told`() throws {
        let granted = try remote(
            ["customers", "grant", customer, "pro", "--duration", "monthly", "--reason", "ticket 77"])
        #expect(granted.text.contains("grant of \(customer) is done"), "\(granted.text)")
        let again = try remote(
            ["customers", "grant", customer, "pro", "--duration", "monthly", "--reason", "t", "--wait", "--json"])
        let outcome = again.document?["outcome"]
        #expect(outcome?["changed"] == .bool(false), "\(again.text)")
        let job = try #require(again.document?["job"]?.intValue ?? again.document?["id"]?.intValue)
        let shown = try remote(["jobs", "show", String(job), "--wait", "--json"]).text
        #expect(shown == (try scene.site.run("jobs", "show", String(job), "--json").text))
        #expect(try remote(["jobs", "show", String(job)]).text.contains("by anna"))
        try remote(["customers", "revoke-grant", customer, "pro", "--reason", "ticket 78"]).expectDone("revoke")
        try remote(["endpoints", "disable", endpoint, "--reason", "upgrade"]).expectDone("endpoint_disable")
        #expect(try scene.site.run("endpoints", "show", endpoint, "--json").document?["state"] == .string("disabled"))
        try remote(["endpoints", "enable", endpoint, "--reason", "upgrade"]).expectDone("endpoint_enable")
        try remote(["endpoints", "pause", endpoint, "--for", "1h", "--reason", "r"]).expectDone("endpoint_pause")
        let paused = "SELECT count(*) FROM entitled.endpoint WHERE paused_until_ms > extract(epoch FROM now()) * 1000"
        #expect(try scene.site.database?.count(paused) == 1)
        let ended = try scene.site.run("endpoints", "pause", endpoint, "--until", "2026-01-01T00:00:00Z")
        #expect(ended.text.contains("is not paused"))
        #expect(try scene.site.database?.count(paused) == 0)
        #expect(try scene.site.run("endpoints", "pause", endpoint, "--for", "30d").text.contains("gets nothing until"))
        #expect(try scene.site.database?.count(paused) == 1)
        try scene.site.run("endpoints", "pause", "ep_none", "--for", "1h", status: 1)
        try scene.site.run("endpoints", "pause", endpoint, "--until", "2026-01-01T00:00:00Z")
        let rotated = try remote(["endpoints", "rotate-secret", endpoint, "--reason", "r", "--json"])
        let secret = try #require(rotated.document?["outcome"]?["secret"]?.stringValue, "\(rotated.text)")
        #expect(secret.hasPrefix("whsec_") && rotated.document?["outcome"]?["sealed"] == nil)
        #expect(
            try remote(["apple", "extend", customer, "--days", "3", "--reason", "outage"], status: 2).log
                .contains("--audit-reason"))
        let delivery = try text(try rows("deliveries", "list", named: "deliveries").first, "id")
        try remote(["deliveries", "resend", delivery, "--reason", "lost"]).expectDone("resend")
        let uuid = try text(try rows("notifications", "list", named: "notifications").first, "uuid")
        try remote(["notifications", "reprocess", uuid, "--reason", "again"]).expectDone("reprocess")
        let actors = try rows("audit", "list", named: "items").map { $0["actor"]?.stringValue }
        #expect(Set(actors) == ["anna"] && actors.count == 9, "\(actors)")
        let unknown = try remote(
            ["customers", "grant", "nobody", "pro", "--duration", "daily", "--reason", "r"], status: 1)
        #expect(unknown.logLines.count == 1 && unknown.log.contains("nobody"), "\(unknown.log)")
    }

    @Test func `endpoints are added, changed, tested and removed from afar, and customers deleted`() throws {
        let hook = "https://consumer.invalid/hooks"
        let words = ["endpoints", "add", hook, "--event", "RENEWAL", "--authorization", "Bearer hunter2"]
        #expect(try remote(words, status: 2).log.contains("needs --reason"))
        let added = try remote(words + ["--header", "X-Tenant: topsecret", "--reason", "new", "--json"])
        let id = try #require(added.document?["outcome"]?["endpoint"]?.stringValue, "\(added.text)")
        let secret = try #require(added.document?["outcome"]?["secret"]?.stringValue)
        let site = scene.site
        func shown() throws -> JSON? { try site.run("endpoints", "show", id, "--json").document }
        #expect(try shown()?["url"] == .string(hook) && (try shown()?["authorization"]) == .bool(true))
        #expect(try shown()?["headers"] == .strings(["X-Tenant"]) && (try shown()?["events"]) == .strings(["RENEWAL"]))
        let given = try remote(["endpoints", "add", "https://second.invalid/", "--secret", secret, "--reason", "r"])
        #expect(given.text.contains("signs with the secret that was given") && !given.text.contains("whsec_"))
        let own = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 24))
        try own.write(toFile: "\(folder)/own", atomically: true, encoding: .utf8)
        let rotation = ["endpoints", "rotate-secret", id, "--secret-file", "\(folder)/own", "--reason", "r"]
        let rotated = try remote(rotation)
        rotated.expectDone("endpoint_rotate_secret")
        #expect(!rotated.text.contains("whsec_") && !rotated.log.contains("whsec_"))
        let secrets = "SELECT count(*) FROM entitled.endpoint_secret WHERE endpoint = $1"
        #expect(try site.database?.connect().query(secrets, [.text(id)]).one().int("count") == 2)
        let bad = try remote(["endpoints", "add", "https://10.0.0.1/x", "--reason", "r"], status: 1)
        #expect(bad.log.contains("not public"), "\(bad.log)")
        // Here --url is the endpoint's.
        func update(_ options: [String], status: Int32 = 0) throws -> Program {
            let program = try Program(
                ["endpoints", "update", id] + options, folder: folder,
                environment: [
                    "ENTITLED_CONFIG": "/nowhere/entitled.json5", "ENTITLED_URL": url,
                    "ENTITLED_KEY_FILE": "\(folder)/key",
                ])
            #expect(try program.wait() == status, "\(program.log)")
            return program
        }
        try update(["--except", "TEST", "--no-authorization", "--retry-schedule", "1m,2m", "--reason", "r"])
            .expectDone("endpoint_change")
        #expect(
            try shown()?["excepted_events"] == .strings(["TEST"]) && (try shown()?["authorization"]) == .bool(false))
        let elsewhere = ["--url", "https://third.invalid/"]
        #expect(try update(elsewhere + ["--reason", "r"], status: 1).log.contains("would be sent to another server"))
        try update(elsewhere + ["--no-header", "X-Tenant", "--reason", "r"]).expectDone("endpoint_change")
        #expect(try shown()?["url"] == .string("https://third.invalid/"))
        let named = try Program(
            [
                "endpoints", "update", id, "--ordering", "purchase", "--reason", "r", "--console-url", url,
                "--key-file", "\(folder)/key",
            ],
            folder: folder, environment: ["ENTITLED_CONFIG": "/nowhere/entitled.json5"])
        #expect(try named.wait() == 0, "\(named.log)")
        try remote(["endpoints", "test", endpoint, "--reason", "r"]).expectDone("endpoint_test")
        try eventually("the test event arrives") {
            try site.run("deliveries", "list", "--type", "TEST", "--json").document?["deliveries"]?.arrayValue?.first?[
                "state"]
                == .string("delivered")
        }
        try remote(["endpoints", "remove", id, "--reason", "gone"]).expectDone("endpoint_remove")
        try site.run("endpoints", "show", id, status: 1)
        let deleted = try remote(["customers", "delete", customer, "--reason", "asked by mail"])
        deleted.expectDone("customer_delete")
        try site.run("customers", "show", customer, status: 1)
        try eventually("its request forgets the customer") {
            !(try site.run("audit", "list", "--json").text + site.run("jobs", "list", "--json").text).contains(customer)
        }
        let dump = try scene.site.database?.texts("SELECT row_to_json(j)::text FROM entitled.job j").joined() ?? ""
        for part in ["hunter2", "topsecret", secret, own] { #expect(!dump.contains(part)) }
        let journal = "\(folder)/journal"
        try site.run("journal", "export", "--to", journal)
        #expect(try !String(contentsOfFile: journal, encoding: .utf8).contains("hunter2"))
    }

    @Test func `replays are asked for from afar, and an outage sends what was withheld`() throws {
        let words = ["replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--all"]
        let dry = try remote(words + ["--dry-run"]).text
        #expect(try dry == scene.site.run(words + ["--dry-run"]).text && dry.contains("would be sent"), "\(dry)")
        #expect(try remote(words, status: 2).log.contains("needs --reason"))
        let done = try remote(words + ["--reason", "ticket 81", "--wait", "--json"]).document
        #expect(done?["state"] == .string("done") && done?["kind"] == .string("replay_webhooks"), "\(done?.text ?? "")")
        #expect(try rows("replay", "list", named: "replays").map { $0["id"] } == [done?["id"]])
        let history = ["replay", "history", "--app", "demo", "--from", "1d", "--to", "0s", "--reason", "x"]
        #expect(try remote(history + ["--transaction", "1"], status: 2).log.contains("works on the host"))
        #expect(try scene.site.run(words + ["--reason", "x"], status: 2).log.contains("--reason needs --url"))
        // Ingest is up now, and was before two hours ago.
        let database = try #require(scene.site.database)
        let minute = SystemClock().now() / 60_000
        try database.execute("DELETE FROM entitled.listening")
        try database.execute(
            "INSERT INTO entitled.listening SELECT generate_series($1::int8, $1::int8 + 5)", [.int8(minute - 120)])
        try database.execute(
            "INSERT INTO entitled.listening SELECT generate_series($1::int8, $1::int8 + 5) ON CONFLICT DO NOTHING",
            [.int8(minute - 5)])
        try database.execute("DELETE FROM entitled.delivery")
        // What came since was signed in the outage, and found in Apple's history.
        for table in ["notification", "fact"] {
            try database.execute(
                "UPDATE entitled.\(table) SET source = 1, signed_ms = $1 WHERE app <> '$promotional'",
                [.int8((minute - 60) * 60_000)])
        }
        try database.execute("UPDATE entitled.endpoint SET created_ms = 1000")
        let shown = try remote(["outages", "show", "1", "--json"])
        #expect(try shown.text == scene.site.run("outages", "show", "1", "--json").text)
        let withheld = shown.document?["lacking"]?.arrayValue?.first
        #expect(withheld?["endpoint"] == .string(endpoint) && withheld?["events"]?.intValue ?? 0 > 0, "\(shown.text)")
        #expect(try remote(["outages", "show", "1"]).text.contains("withheld"))
        #expect(try remote(["outages", "show", "1", "--send-withheld"], status: 2).log.contains("needs --reason"))
        let sent = try remote(["outages", "show", "1", "--send-withheld", "--reason", "ticket 82", "--json"]).document
        let job = try #require(sent?["jobs"]?.arrayValue?.first?["job"]?.intValue)
        #expect(
            try remote(["jobs", "show", String(job), "--wait", "--json"]).document?["queued"] == withheld?["events"])
    }

    @Test func `many rows are changed by a filter, on the host and from afar, and such a job is cancelled`() throws {
        let words = ["deliveries", "resend", "--matching", "--endpoint", endpoint, "--state", "delivered"]
        let count = try rows("deliveries", "list", "--state", "delivered", named: "deliveries").count
        for shown in [
            try scene.site.run(words + ["--preview", "--json"]), try remote(words + ["--preview", "--json"]),
        ] {
            #expect(shown.document?["rows"]?["would_queue"] == .int(Int64(count)), "\(shown.text)")
        }
        #expect(try scene.site.run(words + ["--preview"]).text.contains("would change \(count)"))
        let local = try scene.site.run(words + ["--reason", "ticket 79", "--wait", "--json"]).document
        #expect(local?["state"] == .string("done") && local?["queued"] == .int(Int64(count)), "\(local?.text ?? "")")
        let entry = try rows("audit", "list", "--kind", "bulk_resend", named: "items").first
        #expect(entry?["credential"] == .null && entry?["reason"] == .string("ticket 79"))
        let site = scene.site
        try eventually("they are delivered again") {
            try site.run("deliveries", "list", "--state", "delivered", "--json").document?["deliveries"]?.arrayValue?
                .count == count
        }
        #expect(try remote(words, status: 2).log.contains("needs --reason"))
        let far = try remote(words + ["--reason", "ticket 80", "--json"]).document
        let job = try #require(far?["job"]?.intValue)
        #expect(try remote(["jobs", "show", String(job), "--wait", "--json"]).document?["made_by"] == .string("anna"))
        #expect(
            try remote(["jobs", "cancel", String(job), "--reason", "t"], status: 1).log.contains("has ended already"))
        let held = try scene.site.run(
            "notifications", "reprocess", "--matching", "--type", "DID_RENEW", "--preview", "--json"
        ).document
        #expect(held?["kind"] == .string("bulk_reprocess"))
        // One that another process drives is cancelled on the host.
        let selection = BulkSelection(.notifications(NotificationQuery.Filter(state: .held)), until: 1)
        let database = try #require(scene.site.database)
        try database.execute(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                idempotency_key, request_hash, credential, address, driver, lease_until)
            VALUES ('bulk_reprocess', 'x', $1, 'anna', 1, 1, 'notifications', 't', 'k', sha256(''), 'session x', '',
                gen_random_uuid(), now() + interval '1 h')
            """, [.text(selection.json.text)])
        let open = try database.count("SELECT max(id) FROM entitled.job")
        #expect(try scene.site.run("jobs", "cancel", String(open)).text.contains("cancelled"))
        let cancelled = try rows("audit", "list", "--kind", "bulk_reprocess", named: "items").first
        #expect(cancelled?["message"]?.stringValue?.hasPrefix("The job was cancelled by ") == true)
    }

    @Test func `notes are written and read on the host and from afar`() throws {
        try remote(["notes", "add", customer, "called twice"]).expectDone("note")
        let local = try scene.site.run("notes", "add", customer, "a second one", "--json").document
        let number = try #require(local?["note"]?.intValue)
        let list = try remote(["notes", "list", customer, "--json"])
        #expect(list.text == (try scene.site.run("notes", "list", customer, "--json").text))
        #expect(
            list.document?["items"]?.arrayValue?.map { $0["text"]?.stringValue } == ["a second one", "called twice"])
        let refused = try remote(["notes", "remove", customer, String(number)], status: 1)
        #expect(refused.log.contains("The note is"), "\(refused.log)")
        #expect(try scene.site.run("notes", "remove", customer, String(number)).text.contains("is removed"))
        #expect(try remote(["notes", "list", customer]).text.contains("called twice"))
    }

    @Test func `errors are one line that a person can act on`() throws {
        func failure(
            _ words: [String], key: String? = nil, url: String? = nil, contains text: String, status: Int32 = 1
        ) throws {
            let program = try remote(words, status: status, key: key, url: url)
            #expect(program.logLines.count == 1, "\(program.log)")
            #expect(program.log.contains(text), "\(words): \(program.log)")
        }
        try failure(["status"], key: "op_unknown", contains: "does not accept the key in ENTITLED_KEY")
        let made = try scene.site.run("users", "key", "anna", "--role", "read", "--json").document
        let reader = try #require(made?["key"]?.stringValue)
        try failure(["customers", "list"], key: reader, contains: "it needs one of: support, operator")
        try failure(["doctor"], key: reader, contains: "it needs one of: operator")
        #expect(try remote(["status", "--json"], key: reader).document?["workers"] == .null)
        try failure(["events", "show", "693B9195-0D6B-5C53-9F3B-1C2F3D4E5F60"], contains: "There is no event")
        try failure(["notifications", "show", "none"], contains: "there is no notification none")
        try failure(["search", "none at all"], contains: "nothing has the id none at all")
        try failure(["events", "list", "--since", "1h", "--until", "2h"], contains: "until must be after since")
        try failure(["purchases", "list"], contains: "purchases list needs --customer, --id or a filter", status: 2)
        try failure(["status"], url: scene.baseURL, contains: "is not an operator API")
        try failure(["status"], url: url.replacing("http:", with: "https:"), contains: "TLS with https://127.0.0.1")
        try failure(["status"], url: "https://no-such-host.invalid", contains: "no-such-host.invalid")
    }
}

extension Program {
    fileprivate func expectDone(_ kind: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            text.hasPrefix("\(kind) of ") && text.contains(" is done"), "\(text)\(log)", sourceLocation: sourceLocation)
    }
}
