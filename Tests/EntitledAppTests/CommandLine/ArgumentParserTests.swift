import Base
import CLI
import Daemon
import Database
import Subscriptions
import Testing

@testable import EntitledApp

struct ArgumentParserTests {
    private static let root = CommandTree.root

    private func parse(_ words: [String]) throws -> (
        path: String, parsed: ParsedArguments, global: ParsedArguments
    ) {
        guard
            case .command(_, let path, let parsed, let global) = try ArgumentParser.parse(
                words, Self.root, of: .entitled)
        else {
            throw UsageError("help")
        }
        return (path.joined(separator: " "), parsed, global)
    }

    @Test(arguments: [
        ["verify", "f.jws", "--root", "a", "--root=b", "--at", "2026-01-01T00:00:00Z", "--json"],
        ["--json", "verify", "--root=a", "--at=2026-01-01T00:00:00Z", "f.jws", "--root", "b"],
        ["verify", "--json", "--root", "a", "--at=2026-01-01", "--root=b", "--", "f.jws"],
    ])
    func `options may stand anywhere`(words: [String]) throws {
        let (path, parsed, global) = try parse(words)
        #expect(path == "verify")
        #expect(global.has("--json"))
        let options = try VerifyCommand(parsed)
        #expect(options.file == "f.jws")
        #expect(options.rootFiles == ["a", "b"])
        #expect(options.at == 1_767_225_600_000)
        #expect(options.kind == .auto)
    }

    @Test func `verify takes all it is documented to take`() throws {
        let words = [
            "verify", "-", "--bundle-id", "com.example.app", "--apple-app-id", "1234567890", "--environment", "Sandbox",
            "--kind", "app-transaction", "--config", "c.json5",
        ]
        let (_, parsed, global) = try parse(words)
        let options = try VerifyCommand(parsed)
        #expect(options.file == nil)
        #expect(options.bundleID == "com.example.app")
        #expect(options.appleAppID == 1_234_567_890)
        #expect(options.environment == .sandbox)
        #expect(options.kind == .appTransaction)
        #expect(options.at == nil)
        #expect(global.text("--config") == "c.json5")
        #expect(!global.has("--json"))
    }

    @Test(
        arguments: [
            ("transfer", RestoreBehavior.transfer), ("transfer_if_no_active_subs", .transferIfNoActiveSubscriptions),
            ("error", .keep), ("share", .share), ("default", nil),
        ] as [(String, RestoreBehavior?)])
    func `restore-behavior takes a behaviour or the default`(word: String, behavior: RestoreBehavior?) throws {
        let (path, parsed, _) = try parse(["customers", "restore-behavior", "user-42", word, "--reason", "why"])
        let options = try CustomerRestoreBehaviorCommand(parsed)
        #expect(path == "customers restore-behavior")
        #expect(options.id == "user-42")
        #expect(options.behavior == behavior)
        #expect(options.reason == "why")
        #expect(throws: UsageError.self) { _ = try parse(["customers", "restore-behavior", "user-42", "mine"]) }
        #expect(throws: UsageError.self) { _ = try parse(["customers", "restore-behavior", "user-42"]) }
    }

    @Test func `endpoints add takes repeated filters`() throws {
        let words = [
            "endpoints", "add", "https://example.com", "--event", "RENEWAL", "--environment", "Production",
            "--event=TEST",
            "--app", "demo", "--authorization", "-secret",
        ]
        let (path, parsed, _) = try parse(words)
        let add = try EndpointAddCommand(parsed)
        #expect(path == "endpoints add")
        #expect(add.ordering == .none)
        let ordered = try parse(["endpoints", "add", "https://example.com", "--ordering", "purchase"]).parsed
        #expect(try EndpointAddCommand(ordered).ordering == .purchase)
        #expect(add.url == "https://example.com")
        #expect(add.filters.events == ["RENEWAL", "TEST"])
        #expect(add.filters.environments == [.production])
        #expect(add.filters.apps == ["demo"])
        #expect(add.request.authorization?.exposed == "-secret")
    }

    @Test(arguments: [["endpoints", "add", "https://example.com"], ["endpoints", "rotate-secret", "we_1"]])
    func `a secret that the consumer has is taken, and what is none is refused without being shown`(words: [String])
        throws
    {
        func secret(_ text: String) throws -> WebhookSecret? {
            let parsed = try parse(words + ["--secret", text]).parsed
            return words[1] == "add"
                ? try EndpointAddCommand(parsed).secret : try EndpointRotateSecretCommand(parsed).secret
        }
        let good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        #expect(try secret(good)?.text == good)
        for bad in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqr", "secret of mine"] {
            let error = #expect(throws: UsageError.self) { try secret(bad) }
            #expect(error.map { "\($0)".contains("whsec_ and the base64") && !"\($0)".contains(bad) } == true)
        }
    }

    @Test func `lists take filters and a limit`() throws {
        let notifications = try NotificationListCommand(
            parse(["notifications", "list", "--state", "held", "--limit", "10000"]).parsed)
        #expect(notifications.state == .held)
        #expect(notifications.part.limit == 10000)
        let show = try NotificationShowCommand(parse(["notifications", "show", "u", "--raw"]).parsed)
        #expect(show.target.uuid == "u" && show.isRaw)
        #expect(try !NotificationShowCommand(parse(["notifications", "show", "u"]).parsed).isRaw)
        let deliveries = try DeliveryListCommand(parse(["deliveries", "list", "--endpoint", "e"]).parsed)
        #expect(deliveries.endpoint == "e")
        #expect(deliveries.part.limit == 50)
        #expect(deliveries.state == nil)
    }

    @Test func `what follows two dashes is an argument`() throws {
        let (_, parsed, global) = try parse(["customers", "show", "--", "--json"])
        #expect(try CustomerShowCommand(parsed).anyID == "--json")
        #expect(!global.has("--json"))
    }

    @Test(arguments: [
        (["notifications", "show", "u", "--app", "demo", "--environment", "Sandbox"], "notifications show"),
        (["notifications", "show", "u", "--raw"], "notifications show"),
        (["endpoints", "list"], "endpoints list"), (["endpoints", "show", "1"], "endpoints show"),
        (["endpoints", "enable", "1"], "endpoints enable"), (["endpoints", "disable", "1"], "endpoints disable"),
        (["endpoints", "rotate-secret", "1"], "endpoints rotate-secret"),
        (["endpoints", "test", "1"], "endpoints test"),
        (["endpoints", "remove", "1"], "endpoints remove"), (["deliveries", "show", "1"], "deliveries show"),
        (["deliveries", "resend", "1"], "deliveries resend"), (["ingest"], "ingest"), (["worker"], "worker"),
        (["api"], "api"), (["run"], "run"), (["migrate"], "migrate"), (["check-config"], "check-config"),
        (["version"], "version"), (["customers", "list"], "customers list"),
        (["customers", "alias", "a", "b"], "customers alias"),
        (["customers", "transfer", "a", "b", "--purchase", "1", "--reason", "r"], "customers transfer"),
        (["customers", "delete", "a"], "customers delete"), (["purchases", "list", "--unclaimed"], "purchases list"),
        (["purchases", "claim", "1", "a"], "purchases claim"), (["products", "list", "--unmapped"], "products list"),
        (["rebuild", "--dry-run"], "rebuild"),
    ])
    func `every documented command is known`(words: [String], path: String) throws {
        #expect(try parse(words).path == path)
    }

    @Test(arguments: [
        (["replay", "notes"], "unknown command 'replay notes'"),
        (["surgeon"], "unknown command 'surgeon'"),
        (["notifications", "forget", "u"], "unknown command 'notifications forget'"),
        (["--json", "verfy"], "did you mean 'verify'?"),
        (["endpoints", "delete"], "unknown command 'endpoints delete'"),
        (["verify", "--no-such-flag"], "unknown option --no-such-flag of entitled verify"),
        (["verify", "--rot", "x"], "did you mean --root?"), (["verify", "-x"], "unknown option -x"),
        (["verify", "-", "--environment", "Xcode"], "--environment of entitled verify cannot be 'Xcode'"),
        (["verify", "-", "--at", "yesterday"], "--at of entitled verify cannot be 'yesterday'"),
        (["verify", "-", "--at", "2026-01-01T00:00:00Zjunk"], "--at of entitled verify cannot be"),
        (["verify", "-", "--at", "2026-01-01T00:00:00"], "--at of entitled verify cannot be"),
        (["verify", "-", "--kind", "receipt"], "allowed: one of notification, transaction"),
        (["verify", "-", "--apple-app-id", "0"], "--apple-app-id"),
        (["verify", "-", "--apple-app-id", "1x"], "--apple-app-id"),
        (["verify", "a", "b"], "one argument too many: 'b'"),
        (["verify", "--root"], "--root of entitled verify needs a path"),
        (["verify", "--root", "--json"], "--root of entitled verify needs a path"), (["verify", "--root="], "--root"),
        (["verify", "--json=yes"], "--json of entitled verify takes no value"),
        (["verify", "--kind=auto", "--kind", "renewal"], "given twice"),
        (["verify", "--config=a", "--config=b"], "given twice"),
        (["customers", "show"], "entitled customers show needs ANY-ID"), (["customers", "show", ""], "ANY-ID"),
        (["endpoints", "add"], "entitled endpoints add needs URL"), (["run", "now"], "one argument too many: 'now'"),
        (["deliveries", "list", "--limit", "0"], "from 1 to 100000"),
        (["--root", "x", "verify"], "unknown option --root of entitled"),
        (["verify\u{1B}[31m\n"], "unknown command 'verify [31m '"),
    ])
    func `wrong use is one line and status 2`(words: [String], message: String) {
        let done = ProgramFixture().run(words)
        #expect(done.status == 2)
        #expect(done.output.isEmpty)
        #expect(done.errors.contains(message), "\(done.errors)")
        #expect(done.errors.hasPrefix("entitled: "))
        #expect(done.errorLines == 1)
    }

    @Test(arguments: [
        (["--help"], ["Commands:", "verify", "check-config"]), (["-h"], ["Commands:"]),
        (["endpoints", "--help"], ["Commands:", "rotate-secret"]),
        (["--help", "endpoints", "add"], ["--authorization VALUE"]),
        (["verify", "--kind", "auto", "-h"], ["Usage: entitled verify [FILE] [--root FILE]…", "Examples:"]),
        (["customers", "show", "--help"], ["ANY-ID"]),
    ])
    func `help is at every level`(words: [String], parts: [String]) {
        let done = ProgramFixture().run(words)
        #expect(done.status == 0)
        #expect(done.errors.isEmpty)
        for part in parts + ["Usage: ", "--config FILE", "--json", "--help"] {
            #expect(done.output.contains(part), "\(part)")
        }
    }

    @Test func `help COMMAND is its help, and --version the version`() {
        for words in [["keys", "create"], ["endpoints"], []] {
            let done = ProgramFixture().run(["help"] + words)
            #expect(done.status == 0)
            #expect(done.output == ProgramFixture().run(words + ["--help"]).output)
        }
        #expect(ProgramFixture().run(["help", "nothing"]).status == 2)
        #expect(ProgramFixture().run(["--version"]).output == ProgramFixture().run(["version"]).output)
        #expect(ProgramFixture().run(["--version"]).status == 0)
        #expect(ProgramFixture().run(["keys", "--version"]).status == 2)
    }

    @Test func `required options have no brackets, and the command is refused without them`() {
        let help = ProgramFixture().run(["keys", "create", "--help"]).output
        #expect(help.contains("Usage: entitled keys create --kind KIND [--app ID]"))
        let done = ProgramFixture().run(["keys", "create"])
        #expect(done.status == 2)
        #expect(done.errors == "entitled: entitled keys create needs --kind KIND; see entitled keys create --help\n")
        for (path, node) in Self.root.leaves {
            #expect(node.declaration.options.allSatisfy { !$0.isRequired || $0.value != nil }, "\(path)")
        }
    }

    @Test(arguments: [40, 60, 80, 100])
    func `help fits the width`(width: Int) {
        for (path, node) in Self.root.leaves {
            // Words and examples are not broken.
            for line in HelpText.text(node, path: path, of: .entitled, width: width).split(separator: "\n")
            where line.count > width && !line.hasPrefix("  entitled ") {
                #expect(line.split(separator: " ").contains { $0.count + 34 > width }, "\(path): \(line)")
            }
        }
    }

    @Test func `every command explains itself with an example`() {
        for (path, node) in Self.root.leaves {
            let help = HelpText.text(node, path: path, of: .entitled)
            #expect(!node.declaration.examples.isEmpty, "\(path)")
            #expect(node.declaration.examples.allSatisfy { $0.hasPrefix(path.joined(separator: " ")) }, "\(path)")
            #expect(node.declaration.summary.hasSuffix("."), "\(path)")
            #expect(help.split(separator: "\n").allSatisfy { $0.count <= 110 }, "\(path)")
        }
    }

    @Test(arguments: [
        ("verfy", "verify"), ("VERIFY", "verify"), ("endpoint", "endpoints"), ("custom", "customers"), ("zzz", nil),
        ("x", nil),
    ])
    func `suggestions are near`(word: String, meant: String?) {
        #expect(Suggestion.closest(to: word, in: Self.root.children.map(\.declaration.name)) == meant)
    }

    @Test(arguments: [
        ("", "", 0), ("abc", "", 3), ("abc", "acb", 1), ("kitten", "sitting", 3), ("a", "A", 0), ("ca", "abc", 3),
    ])
    func `distances count insertions, deletions, replacements and swaps`(a: String, b: String, distance: Int) {
        #expect(Suggestion.distance(a, b) == distance)
        #expect(Suggestion.distance(b, a) == distance)
    }
}
