import Base
import Crypto
import Daemon
import Database
import Duties
import HTTP
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Endpoints that operators add, change, remove and test, and what of them the database never says.
struct EndpointChangeTests {
    private let fixture: ChangeFixture
    private let worker: PostgresConnection
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    private let work: ChangeWork
    private let url = "https://198.100.1.1/hooks"

    init() throws {
        fixture = try ChangeFixture()
        worker = try fixture.worker()
        let sealer = self.sealer
        work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), keys: { sealer }, endpoints: EndpointRules(apps: ["demo"]),
            clock: SystemClock())
        try SealingKeyRegister.check(sealer, now: 1, on: worker)
        #expect(try SecretIntake.publish(sealer, on: worker))
    }

    // MARK: - Asking

    /// As the console writes it.
    private func parameters(
        _ kind: ChangeKind, _ target: String, _ form: EndpointForm, _ given: GivenSecrets = GivenSecrets(),
        key: AnswerKey? = nil, for url: String? = nil
    ) throws -> JSON {
        var members = form.json.members ?? []
        if !given.isEmpty {
            let intake = try #require(try SecretIntake.publicKey(on: fixture.console()))
            let sealed = try SecretIntake.seal(given, to: intake, kind, target, url: url ?? form.url ?? "")
            members.append(JSON.Member(name: SecretIntake.member, value: .string(sealed)))
        }
        if let key {
            members.append(JSON.Member(name: ChangeVersions.answerKey, value: .string(Hex.encode(key.publicKey))))
        }
        return .object(members)
    }

    private func end(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON = .object([JSON.Member]()),
        as user: String = "integrator", named name: String = Hex.encode(SecureRandom.bytes(8))
    ) throws -> (change: Change, ending: ChangeEnding?) {
        let id = try fixture.ask(ChangeFixture.request(kind, target, parameters, as: user, key: name))
        let ending = try work.next(on: worker)?.ending
        return (try fixture.change(id), ending)
    }

    private func message(_ ended: (change: Change, ending: ChangeEnding?)) -> String { ended.ending?.message ?? "done" }

    private static func given() throws -> GivenSecrets {
        try GivenSecrets(
            authorization: "Bearer hunter2", headers: ["X-Tenant: topsecret"],
            secret: "whsec_" + Base64.encode([UInt8](repeating: 7, count: 24)))
    }

    private func wanted(_ change: (inout EndpointForm) -> Void = { _ in }) -> EndpointForm {
        var form = EndpointForm()
        form.url = url
        change(&form)
        return form
    }

    /// Rows of jobs, audit and journal, whole, as the console or an export has them.
    private func rows() throws -> [String] {
        try fixture.console().query(
            "SELECT row_to_json(j)::text AS row FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        ).map { try $0.text("row") }
    }

    private func loaded(_ id: String) throws -> Endpoint {
        try #require(try EndpointTable.load(id: id, sealer: sealer, now: SystemClock().now(), on: worker).first)
    }

    // MARK: - Adding

    @Test func `a new endpoint has its settings, and its secret is for the one who asked alone`() throws {
        let (id, key) = (EndpointTable.newID(), try AnswerKey())
        let form = wanted {
            $0.events = ["RENEWAL"]
            $0.environments = [.production]
            $0.apps = ["demo"]
            $0.ordering = .purchase
            $0.isAsymmetric = true
            $0.retrySchedule = .set(RetrySchedule(waits: [60_000]))
            $0.since = 1000
        }
        let (change, ending) = try end(.endpointAdd, id, try parameters(.endpointAdd, id, form, key: key))
        #expect(ending?.outcome == .done, "\(String(describing: ending))")
        let outcome = try JSON(parsing: Array((change.outcome ?? "{}").utf8))
        #expect(outcome["endpoint"] == .string(id) && outcome["public_key"]?.stringValue?.hasPrefix("whpk_") == true)
        let sealed = try #require(outcome[Change.sealed]?.stringValue.flatMap(Hex.decode))
        let secret = String(decoding: key.open(sealed, context: change.sealingContext) ?? [], as: UTF8.self)
        let added = try loaded(id)
        #expect(added.secrets.map(\.text) == [secret] && added.events == ["RENEWAL"] && added.ordering == .purchase)
        #expect(added.environments == [.production] && added.apps == ["demo"] && added.url == url)
        #expect(added.retrySchedule == RetrySchedule(waits: [60_000]))
        let job = try #require(outcome["back_fill"]?.intValue)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job WHERE id = $1", [.int8(job)]) == 1)
        for row in try rows() { #expect(!row.contains(secret) && !row.contains(Hex.encode(Array(secret.utf8)))) }
        #expect(change.parameters == "{}")
        // The same id again, also once it was removed.
        #expect(
            message(try end(.endpointAdd, id, try parameters(.endpointAdd, id, form, key: key))).contains("was one"))
        #expect(try end(.endpointRemove, id).ending?.outcome == .done)
        #expect(
            message(try end(.endpointAdd, id, try parameters(.endpointAdd, id, form, key: key))).contains("was one"))
    }

    @Test func `what an operator gives of secrets is sealed to the workers, for this endpoint at this URL`() throws {
        let (id, key, given) = (EndpointTable.newID(), try AnswerKey(), try Self.given())
        let asked = try parameters(.endpointAdd, id, wanted(), given, key: key)
        // While it waits, too, nothing that the console's role reads says it.
        let waiting = try fixture.ask(ChangeFixture.request(.endpointAdd, id, asked, as: "integrator", key: "w"))
        let secret = try #require(given.secret?.text)
        let parts = [
            "hunter2", "topsecret", secret, Hex.encode(Array("hunter2".utf8)), Base64.encode(Array("hunter2".utf8)),
        ]
        for row in try rows() { for part in parts { #expect(!row.contains(part), "\(row)") } }
        #expect(try work.next(on: worker)?.job == waiting)
        let ended = try fixture.change(waiting)
        #expect(ended.state == .done, "\(ended.error ?? "")")
        let added = try loaded(id)
        #expect(added.authorization?.exposed == "Bearer hunter2" && added.secrets.map(\.text) == [secret])
        #expect(added.headers.map(\.value.exposed) == ["topsecret"])
        #expect(!(ended.outcome ?? "").contains(Change.sealed))
        for row in try rows() { for part in parts { #expect(!row.contains(part), "\(row)") } }
        for column in ["fingerprint", "*"] {
            #expect(throws: PostgresError.self) {
                _ = try fixture.console().query("SELECT \(column) FROM entitled.sealing_key")
            }
        }
        // Copied to another endpoint, another URL or another kind, it opens for none.
        let members = (asked.members ?? []).filter { $0.name != "url" }
        let (other, elsewhere) = (EndpointTable.newID(), "https://198.100.1.2/hooks")
        let moved = JSON.object(members + [JSON.Member(name: "url", value: .string(elsewhere))])
        for (target, parameters) in [(other, asked), (other, moved)] {
            #expect(message(try end(.endpointAdd, target, parameters)).contains("does not open"))
            #expect(try EndpointTable.list(id: target, on: worker).isEmpty)
        }
        let change = JSON.object(members.filter { $0.name == SecretIntake.member })
        #expect(message(try end(.endpointChange, id, change)).contains("does not open"))
        #expect(try loaded(id).authorization?.exposed == "Bearer hunter2")
    }

    @Test func `the key of the workers that is replaced still opens what was sealed to it`() throws {
        let (id, key) = (EndpointTable.newID(), try AnswerKey())
        let asked = try parameters(.endpointAdd, id, wanted(), try Self.given(), key: key)
        let newer = SecretSealer(keys: [
            Redacted([UInt8](repeating: 9, count: 32)), Redacted([UInt8](repeating: 1, count: 32)),
        ])
        let work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), keys: { newer }, clock: SystemClock())
        let waiting = try fixture.ask(ChangeFixture.request(.endpointAdd, id, asked, as: "integrator"))
        #expect(try work.next(on: worker)?.job == waiting)
        #expect(try fixture.change(waiting).state == .done)
    }

    @Test(arguments: [
        ("https://127.0.0.1/x", "not public"), ("https://10.0.0.7/x", "not public"), ("https://[::1]/x", "not public"),
        ("https://[::ffff:192.168.1.1]/x", "not public"), ("https://0x7f000001/x", "not public"),
        ("https://169.254.169.254/latest", "not public"), ("http://198.100.1.1/x", "plain http"),
        ("https://198.100.1.1:5432/x", "port 5432"), ("https://user:word@198.100.1.1/", "cannot be used"),
        ("ftp://198.100.1.1/", "cannot be used"), ("https:///x", "cannot be used"), ("", "cannot be used"),
        ("https://localhost/x", "not public"),
    ])
    func `no endpoint leads where nothing may be sent`(url: String, why: String) throws {
        let (id, key) = (EndpointTable.newID(), try AnswerKey())
        let added = try end(.endpointAdd, id, try parameters(.endpointAdd, id, wanted { $0.url = url }, key: key))
        #expect(message(added).contains(why), "\(url): \(message(added))")
        #expect(try EndpointTable.list(id: id, on: worker).isEmpty)
        var form = EndpointForm()
        form.url = url
        #expect(message(try end(.endpointChange, "ep_1", form.json)).contains(why))
        #expect(try loaded("ep_1").url == "https://example.com/hook")
    }

    @Test func `the worker checks what the console should have`() throws {
        let (id, key) = (EndpointTable.newID(), try AnswerKey())
        let right = try parameters(.endpointAdd, id, wanted(), key: key)
        func with(_ name: String, _ value: JSON) -> JSON {
            .object((right.members ?? []).filter { $0.name != name } + [JSON.Member(name: name, value: value)])
        }
        let wrong: [JSON] = [
            with(ChangeVersions.answerKey, .string("00")), with(ChangeVersions.answerKey, .null), with("url", .int(1)),
            with("url", .null), with("events", .string("RENEWAL")), with("events", .array([.int(1)])),
            with("events", .strings(["renewal"])), with("events", .strings(["x'; DROP TABLE entitled.endpoint; --"])),
            with("events", .strings(Array(repeating: "RENEWAL", count: 201))), with("apps", .strings(["other"])),
            with("environments", .strings(["Xcode"])), with("format", .string("xml")), with("ordering", .string("x")),
            with("retry_schedule", .string("1ms")), with("extension_version", .string("1")),
            with("without_headers", .strings(["X-A"])), with(SecretIntake.member, .string("x")),
            .object((with("format", .string("raw")).members ?? []) + [.init(name: "since", value: .int(1))]),
        ]
        for parameters in wrong {
            let ended = try end(.endpointAdd, id, parameters)
            #expect(ended.ending?.outcome == .refused, "\(parameters.text): \(message(ended))")
            #expect(ended.ending?.message?.hasSuffix(".") == true)
        }
        for target in ["we_operations", "we_0123", "we_ABCDEF0123456789", "ep_1", "we_0123456789abcdeg", "<script>"] {
            #expect(try end(.endpointAdd, target, right).ending?.outcome == .refused, "\(target)")
        }
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.endpoint") == 1)
        // Of a worker without the key that is in use.
        let stranger = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(),
            keys: { SecretSealer(keys: [Redacted([UInt8](repeating: 3, count: 32))]) },
            endpoints: EndpointRules(apps: ["demo"]), clock: SystemClock())
        let job = try fixture.ask(ChangeFixture.request(.endpointAdd, id, right, as: "integrator", key: "stranger"))
        #expect(try stranger.next(on: worker)?.ending.message?.contains("cannot seal") == true)
        #expect(try fixture.change(job).state == .failed)
    }

    // MARK: - Changing

    @Test func `only what is asked for changes`() throws {
        let before = try loaded("ep_1")
        var form = EndpointForm()
        form.exceptedEvents = ["TEST"]
        form.retrySchedule = .set(RetrySchedule(waits: []))
        #expect(try end(.endpointChange, "ep_1", form.json).ending?.outcome == .done)
        var after = try loaded("ep_1")
        #expect(after.exceptedEvents == ["TEST"] && after.retrySchedule == RetrySchedule(waits: []))
        #expect(after.url == before.url && after.ordering == before.ordering && after.created == before.created)
        // A list takes the place of the excepted ones.
        form = EndpointForm()
        form.events = ["RENEWAL"]
        form.retrySchedule = .clear
        #expect(try end(.endpointChange, "ep_1", form.json).ending?.outcome == .done)
        after = try loaded("ep_1")
        #expect(after.events == ["RENEWAL"] && after.exceptedEvents.isEmpty && after.retrySchedule == nil)
        #expect(message(try end(.endpointChange, "ep_none", form.json)).contains("There is no endpoint"))
    }

    @Test func `an authorization does not go to another server`() throws {
        let given = try GivenSecrets(authorization: "Bearer hunter2", headers: ["X-A: b"], secret: nil)
        let set = try parameters(
            .endpointChange, "ep_1", EndpointForm(), given, for: "https://example.com/hook")
        #expect(try end(.endpointChange, "ep_1", set).ending?.outcome == .done)
        func move(to url: String, _ change: (inout EndpointForm) -> Void = { _ in }) throws -> String {
            var form = EndpointForm()
            form.url = url
            change(&form)
            return message(try end(.endpointChange, "ep_1", form.json))
        }
        #expect(try move(to: url).contains("would be sent to another server"))
        #expect(try move(to: url) { $0.withoutAuthorization = true }.contains("would be sent to another server"))
        #expect(try move(to: url) { $0.withoutHeaders = ["X-A"] }.contains("would be sent to another server"))
        #expect(try move(to: "https://example.com:8443/hook").contains("would be sent to another server"))
        #expect(try loaded("ep_1").url == "https://example.com/hook")
        #expect(
            try move(to: url) {
                $0.withoutAuthorization = true
                $0.withoutHeaders = ["x-a"]
            } == "done")
        let moved = try loaded("ep_1")
        #expect(moved.url == url && !moved.hasAuthorization && moved.headerNames.isEmpty)
        // What was sealed for the former URL does not open for the new one.
        #expect(message(try end(.endpointChange, "ep_1", set)).contains("does not open"))
        // Given anew, it goes with the URL.
        var form = EndpointForm()
        form.url = "https://198.100.1.9/hooks"
        let both = try parameters(.endpointChange, "ep_1", form, given)
        #expect(try end(.endpointChange, "ep_1", both).ending?.outcome == .done)
        #expect(try loaded("ep_1").authorization?.exposed == "Bearer hunter2")
    }

    // MARK: - Removing and testing

    @Test func `an endpoint is tested, removed once, and the one of operations stays`() throws {
        let tested = try end(.endpointTest, "ep_1")
        let outcome = try JSON(parsing: Array((tested.change.outcome ?? "{}").utf8))
        let event = try #require(outcome["event"]?.stringValue, "\(message(tested))")
        #expect(
            try fixture.database.texts("SELECT upper(event::text) || ' ' || event_type FROM entitled.delivery")
                == ["\(event) TEST"])
        #expect(try fixture.database.texts("SELECT app FROM entitled.event") == ["demo"])
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'by an operator'")
        #expect(message(try end(.endpointTest, "ep_1")).contains("is disabled"))
        #expect(try end(.endpointRemove, "ep_1").ending?.outcome == .done)
        #expect(message(try end(.endpointRemove, "ep_1")).contains("There is no endpoint"))
        for kind in [ChangeKind.endpointTest, .endpointChange] {
            #expect(message(try end(kind, "ep_1")).contains("There is no endpoint"))
        }
        #expect(message(try end(.endpointRemove, "we_operations")).contains("webhooks.operations_url"))
    }
}
