import Base
import CLI
import Daemon
import EntitledApp
import Schemas
import Testing

struct ProgramTests {
    private struct Asked: Command {
        static let declaration = CommandDeclaration("asked", "For a test.", examples: ["asked"])
        private let how: String?

        init(_ parsed: ParsedArguments) throws {
            how = parsed.text("HOW")
        }

        func run(_ context: CommandContext) throws -> Int32 {
            switch context.environment["HOW"] {
            case "failure": throw CommandFailure("no\nsuch thing")
            case "usage": throw UsageError("not together")
            case "mistakes":
                _ = try context.configuration()
                return 0
            default: return 7
            }
        }
    }

    private func run(_ how: String) -> ProgramFixture.Outcome {
        var bench = ProgramFixture(program: Program(root: CommandNode("entitled", "Test.", [CommandNode(Asked.self)])))
        bench.configuration.environment = ["HOW": how, "ENTITLED_LOG_LEVEL": "loud", "ENTITLED_INGEST_LISTEN": "x"]
        return bench.run(["asked"])
    }

    @Test func `a command decides its status, and what it throws becomes one`() {
        #expect(run("").status == 7)
        let failure = run("failure")
        #expect(failure.status == 1)
        #expect(failure.errors == "entitled: no such thing\n")
        #expect(run("usage").status == 2)
        let mistakes = run("mistakes")
        #expect(mistakes.status == 2)
        #expect(mistakes.errorLines == 2)
        #expect(mistakes.errors.contains("log.level (from ENTITLED_LOG_LEVEL)"))
    }

    @Test(arguments: [([], "run"), (["customers"], "grant"), (["--json"], "doctor")])
    func `a group without a command shows its help, as wrong use`(words: [String], command: String) {
        let done = ProgramFixture().run(words)
        #expect(done.status == 2 && done.output.isEmpty)
        #expect(done.errors.contains("Usage: ") && done.errors.contains("\n  \(command) "))
    }

    @Test(arguments: ["-V", "--version", "version"])
    func `the version has a short option`(word: String) {
        let done = ProgramFixture().run([word])
        #expect(done.status == 0 && done.output == ProgramFixture().run(["version"]).output)
    }

    private struct Typed: ParsableCommand {
        static let configuration = CommandConfiguration("typed", "For a test.", examples: ["typed"])

        struct Shared: ParsableArguments {
            @Option("--word", .text("WORD"), "A word.") var word: String?
        }

        @Argument(.text("NAME"), "A name.") var name: String
        @Argument(.integer(1...9, "N"), "A number.") var number: Int?
        @Option("--needed", .duration(.zero...Duration.seconds(60)), "A duration.") var needed: Duration
        @OptionGroup var shared: Shared
        @Option("--each", .text("EACH"), "Several.") var each: [String]
        @Option("--count", .integer(1...9, "N"), "A count.") var count: Int = 5
        @Flag("--switch", "A switch.") var isOn: Bool
        var derived = ""

        mutating func validate() throws {
            guard name != "wrong" else { throw UsageError("a wrong name") }
            derived = name.uppercased()
        }

        func run(_ context: CommandContext) -> Int32 {
            let words = [derived, number.map(String.init) ?? "-", needed.text, shared.word ?? "-"]
            context.terminal.print((words + each + ["\(count)", "\(isOn)"]).joined(separator: " "))
            return 0
        }
    }

    @Test func `a command's properties are its declaration, and have its values`() {
        let root = CommandNode("entitled", "Test.", [CommandNode(Typed.self)])
        let declaration = Typed.declaration
        #expect(declaration.arguments.map(\.isOptional) == [false, true])
        let options = declaration.options.map { "\($0.usage)\($0.isRequired ? "!" : "")\($0.isRepeatable ? "…" : "")" }
        #expect(options == ["--needed DURATION!", "--word WORD", "--each EACH…", "--count N", "--switch"])
        func run(_ words: [String]) -> ProgramFixture.Outcome {
            ProgramFixture(program: Program(root: root)).run(words)
        }
        #expect(run(["typed", "a", "--needed", "5s"]).output == "A - 5s - 5 false\n")
        let all = [
            "typed", "a", "3", "--needed=1m", "--each", "x", "--switch", "--each=y", "--word", "w", "--count", "7",
        ]
        #expect(run(all).output == "A 3 1m w x y 7 true\n")
        #expect(run(["typed", "a"]).errors.contains("needs --needed DURATION"))
        #expect(run(["typed", "wrong", "--needed", "5s"]).status == 2)
    }

    @Test func `version says the release and the build`() throws {
        let document = try #require(ProgramFixture().run(["version", "--json"]).document)
        #expect(document["version"] == .string(Version.current))
        #expect(document["schema"] == .int(Int64(SchemaVersion.current)))
        #expect(document["oldest_schema"] == .int(Int64(SchemaVersion.oldest)))
        let build = try #require(document["build"]?.stringValue)
        #expect(build.count == 16 && build.allSatisfy(\.isHexDigit))
        let line = ProgramFixture().run(["version"]).output
        #expect(line.hasPrefix("entitled \(Version.current) (") && line.hasSuffix("build \(build))\n"))
        let revision = document["revision"]?.stringValue
        #expect(line.contains("revision ") == (revision != nil) && line.contains(revision ?? ""))
    }

    @Test func `check-config says ok and what is in force`() throws {
        var bench = ProgramFixture()
        bench.configuration.file("/srv/c.json5", "{ worker: { lease: '5s' } }")
        let done = bench.run(["check-config", "--config", "c.json5"])
        #expect(done.status == 0)
        #expect(done.output.hasPrefix("ok: /srv/c.json5\n"))
        #expect(done.output.contains("worker.lease"))
        let document = try #require(bench.run(["check-config", "--config", "c.json5", "--json"]).document)
        #expect(document["ok"] == .bool(true))
        let lease = document["settings"]?.arrayValue?.first { $0["key"] == .string("worker.lease") }
        #expect(lease?["value"] == .string("5s"))
        #expect(lease?["origin"] == .string("file"))
        // A section that is left out has no settings.
        let keys = ConfigurationKeys.all.filter { $0.variable != nil && !$0.path.hasPrefix("console.proxy.") }
        #expect(document["settings"]?.arrayValue?.count == keys.count)
    }

    @Test func `check-config warns where no app is configured, and shows what is set only if asked`() throws {
        var bench = ProgramFixture()
        bench.configuration.file("/srv/c.json5", "{ worker: { lease: '5s' } }")
        bench.configuration.file(
            "/srv/apps.json5", "{ apps: [ { id: 'demo', bundle_id: 'com.example.demo', apple_app_id: 1 } ] }")
        let warned = bench.run(["check-config", "--config", "c.json5", "--quiet"])
        #expect(warned.status == 0 && warned.output.isEmpty && warned.errorLines == 1)
        #expect(warned.errors.contains("warning: no apps are configured"))
        let set = bench.run(["check-config", "--config", "c.json5", "--set"]).output
        #expect(set.hasPrefix("ok: /srv/c.json5\n") && set.contains("worker.lease") && !set.contains("ingest.listen"))
        #expect(bench.run(["check-config", "--config", "apps.json5"]).errors.isEmpty)
    }

    @Test func `check-config reports all mistakes`() throws {
        var bench = ProgramFixture()
        bench.configuration.file("/srv/c.json5", "{ worker: { lease: '5' }, colour: 'blue', ingset: {} }")
        let done = bench.run(["check-config", "--config", "c.json5"])
        #expect(done.status == 2)
        #expect(done.errorLines == 3)
        #expect(done.errors.contains("did you mean ingest?"))
        let machine = bench.run(["check-config", "--config", "c.json5", "--json"])
        #expect(machine.status == 2)
        #expect(machine.document?["ok"] == .bool(false))
        #expect(machine.document?["mistakes"]?.arrayValue?.count == 3)
    }
}

struct TerminalTests {
    @Test func `tables are aligned, and what is in them cannot steer a terminal`() {
        var table = TextTable(["id", "state"])
        table.add(["1", "enabled"])
        table.add(["long-id", "a\u{1B}[31mb\nc\u{202E}"])
        table.add(["x"])
        #expect(table.text() == "ID       STATE\n1        enabled\nlong-id  a [31mb c\u{FFFD}\nx\n")
        #expect(table.text(bold: true).hasPrefix("\u{1B}[1mID       STATE\u{1B}[0m\n"))
    }

    @Test func `documents are one line for machines and indented for people`() {
        let json = JSON.object(["a": .array([.int(1), .object(["b": .null])]), "c": .array([]), "d": .string("é\n")])
        #expect(
            json.indentedText == """
                {
                  "a": [
                    1,
                    {
                      "b": null
                    }
                  ],
                  "c": [],
                  "d": "é\\n"
                }
                """)
        #expect(!ProgramFixture().run(["version", "--json"]).output.dropLast().contains("\n"))
        #expect(ProgramFixture(isInteractive: true).run(["version", "--json"]).output.contains("\n  "))
    }

    @Test func `a document says the same to people and to programs, and steers no terminal`() throws {
        let evil = JSON.object(["id": .string("a\u{1B}[2J\u{9B}2J\u{7F}b\u{202E}c\u{2028}d\u{E0001}é\n")])
        for isInteractive in [false, true] {
            let output = ProgramFixture.Tape()
            Terminal(isInteractive: isInteractive, output: output.add, errors: { _ in }).document(evil)
            let text = output.text
            #expect(try JSON(parsing: Array(text.utf8)) == evil)
            guard isInteractive else { continue }
            let kinds = text.unicodeScalars.filter { $0 != "\n" }.map(\.properties.generalCategory)
            #expect(!kinds.contains(.control) && !kinds.contains(.format) && !kinds.contains(.lineSeparator))
            #expect(text.contains("é") && text.contains("\\u009b"))
        }
    }
}
