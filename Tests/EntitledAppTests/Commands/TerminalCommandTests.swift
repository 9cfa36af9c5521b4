import Base
import CLI
import Database
import EntitledApp
import Postgres
import TestSupport
import Testing

/// Commands as a person at a terminal sees them: questions before what cannot be undone, lists in the width of the screen,
/// and suggestions; and as a script sees them, which gets none of that.
@Suite struct TerminalCommandTests {
    private let bench: DoctorFixture
    private let endpoint: String
    private let key: String

    /// Customers Ann, who was granted pro, and Ben; an endpoint and a key.
    init() throws {
        let bench = try DoctorFixture()
        let connection = try bench.database.connect(role: "entitled_worker")
        for (place, id) in ["Ann", "Ben"].enumerated() {
            try CustomerTable.make([id], now: Int64(place), on: connection)
        }
        _ = bench.run(["customers", "grant", "Ann", "pro", "--duration", "lifetime"])
        endpoint = try #require(
            bench.run(["endpoints", "add", "https://example.com/hooks", "--json"]).document?["id"]?.stringValue)
        key = try #require(
            bench.run(["keys", "create", "--kind", "secret", "--name", "shop", "--json"]).document?["id"]?.stringValue)
        self.bench = bench
    }

    /// All that the commands below could change.
    private func state() throws -> [String] {
        try bench.database.texts(
            """
            SELECT 'customer ' || original_app_user_id FROM entitled.customer
            UNION ALL SELECT 'action ' || count(*) FROM entitled.action
            UNION ALL SELECT 'endpoint ' || id FROM entitled.endpoint
            UNION ALL SELECT 'secrets ' || count(*) FROM entitled.endpoint_secret WHERE expires_ms IS NULL
            UNION ALL SELECT 'key ' || id FROM entitled.api_key WHERE revoked_ms IS NULL ORDER BY 1
            """)
    }

    private func words(_ command: String) -> [String] {
        command.split(separator: " ").map {
            $0 == "ENDPOINT" ? endpoint : $0 == "KEY" ? key : String($0)
        }
    }

    // MARK: - Questions

    private static let commands: [(String, [String])] = [
        ("customers delete Ann", ["Delete this customer", "Ann", "entitlement   pro active forever"]),
        ("customers delete Ann --erase", ["everything about the purchases?"]),
        ("customers alias Ann Ben", ["Make one customer of these two?", "ids           Ann", "ids           Ben"]),
        ("customers transfer Ann Ben", ["from Ann to Ben?", "purchase      none"]),
        ("customers revoke-grant Ann pro", ["Revoke all grants of pro that Ann has?", "Ann has pro active forever"]),
        ("endpoints remove ENDPOINT", ["Remove this endpoint?", "https://example.com/hooks", "0 deliveries"]),
        ("endpoints rotate-secret ENDPOINT --overlap 0s", ["The consumer rejects webhooks"]),
        ("keys revoke KEY", ["Revoke this key?", "name          shop"]),
        ("secrets rewrap --force", ["which workers may lack?"]),
    ]

    @Test(arguments: commands)
    func `a no changes nothing, and what would change was shown`(command: String, shows: [String]) throws {
        let before = try state()
        for answer in ["no", "", "ye"] {
            let refused = bench.run(words(command), answer: answer)
            #expect(refused.status == 1 && refused.output.isEmpty, "\(refused.output)")
            #expect(refused.errors.hasSuffix("entitled: nothing was changed\n"), "\(refused.errors)")
            for text in shows { #expect(refused.errors.contains(text), "\(text): \(refused.errors)") }
        }
        #expect(try state() == before)
    }

    @Test(arguments: commands)
    func `a yes goes on`(command: String, shows: [String]) {
        let done = bench.run(words(command), answer: "yes")
        #expect(done.status == 0 && done.errors.contains("[yes/no]"), "\(done.errors)")
    }

    @Test(arguments: commands)
    func `with --yes, with --json and without a terminal nothing is asked`(command: String, shows: [String]) {
        #expect(bench.run(words(command) + ["--yes"], answer: "no").status == 0)
    }

    @Test func `a script is not asked`() throws {
        #expect(bench.run(["customers", "delete", "Ben"]).status == 0)
        #expect(bench.run(["customers", "delete", "Ann", "--json"], answer: "no").status == 0)
        #expect(
            try bench.database.count(
                "SELECT count(*) FROM entitled.customer WHERE original_app_user_id IN ('Ann', 'Ben')") == 0)
    }

    @Test func `what harms no one is not asked about`() {
        for command in ["customers alias Ann ann-of-the-web --create", "endpoints rotate-secret ENDPOINT"] {
            let done = bench.run(words(command), answer: "no")
            #expect(done.status == 0 && !done.errors.contains("[yes/no]"), "\(done.errors)")
        }
    }

    // MARK: - Lists

    private static let lists = ["endpoints list", "keys list", "customers list", "purchases list", "check-config"]

    @Test(arguments: [40, 80, 120], lists)
    func `a list fits the screen, and is whole in a pipe`(columns: Int, command: String) {
        let screen = Screen(columns: columns)
        let shown = bench.run(words(command), screen: screen)
        #expect(shown.status == 0 && shown.output.split(separator: "\n").allSatisfy { $0.count <= columns })
        let piped = bench.run(words(command)).output
        #expect(!piped.contains("…, ") && !piped.contains(" ago"))
    }

    @Test func `a test on a terminal waits for its attempt, and a delivery is shown to be read`() throws {
        let tested = bench.run(["endpoints", "test", endpoint], screen: Screen(columns: 80))
        #expect(tested.status == 0 && tested.output.contains("no attempt has ended within 5s"))
        let piped = bench.run(["endpoints", "test", endpoint])
        #expect(piped.output.split(separator: "\n").count == 1)
        let id = try #require(
            bench.run(["deliveries", "list", "--endpoint", endpoint, "--json"]).document?["deliveries"]?.arrayValue?
                .first?["id"]?.stringValue)
        #expect(bench.run(["deliveries", "show", id]).output.contains("\nbody\n{\n  \"api_version\": \"1.0\",\n"))
    }

    @Test func `disabling and enabling say in a line how the endpoint is`() {
        let disabled = bench.run(["endpoints", "disable", endpoint]).output
        #expect(disabled.hasPrefix("\(endpoint) is disabled (by an operator); its events are kept for it until"))
        let enabled = bench.run(["endpoints", "enable", endpoint]).output
        #expect(enabled == "\(endpoint) is enabled: https://example.com/hooks\n")
        #expect(bench.run(["endpoints", "disable", endpoint, "--json"]).document?["retry_schedule"] != nil)
    }

    @Test func `a report that finds nothing in production names the sandbox`() {
        let hint = "--environment Sandbox counts the purchases of the sandbox"
        #expect(bench.run(["report", "--from", "2d"]).output.contains(hint))
        #expect(!bench.run(["report", "--from", "2d", "--environment", "Sandbox"]).output.contains(hint))
        let narrow = bench.run(["report", "--from", "this-month"], screen: Screen(columns: 60)).output
        #expect(narrow.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(narrow)")
    }

    // MARK: - Names that are not found

    @Test func `a name that is nearly right is suggested`() throws {
        for (command, suggestion) in [
            ("customers show An", "did you mean Ann?"), ("customers delete Annn", "did you mean Ann?"),
            ("customers grant Anm pro --duration weekly", "Anm (did you mean Ann?); --create takes it as a new id"),
            ("customers grant Ann proo --duration weekly", "did you mean pro?"),
            ("endpoints show \(endpoint.dropLast())", "did you mean \(endpoint)?"),
            ("endpoints remove \(endpoint)x", "did you mean \(endpoint)?"),
            ("replay webhooks --endpoint \(endpoint)x --since 1h", "did you mean \(endpoint)?"),
            ("keys revoke \(key)x", "did you mean \(key)?"),
        ] {
            let refused = bench.run(words(command))
            #expect(refused.status != 0 && refused.errorLines == 1)
            #expect(refused.errors.contains(suggestion), "\(command): \(refused.errors)")
        }
    }

    @Test func `an id with other digits is another customer, and no key is repeated`() throws {
        let connection = try bench.database.connect(role: "entitled_worker")
        try CustomerTable.make(["user-42"], now: 3, on: connection)
        #expect(!bench.run(["customers", "show", "user-43"]).errors.contains("did you mean"))
        #expect(!bench.run(["customers", "delete", "user-4"]).errors.contains("did you mean"))
        #expect(!bench.run(["keys", "revoke", "sk_of_the_shop"]).errors.contains("sk_of"))
    }
}
