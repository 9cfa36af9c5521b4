import Base
import Daemon
import EntitledApp
import Testing

struct ConfigurationFileTests {
    private func level(_ bench: ConfigurationFixture, file: String? = nil) throws -> String {
        try Configuration.load(file: file, bench.surroundings).log.level.rawValue
    }

    @Test func `the option outranks the variable, and that the standard file`() throws {
        var bench = ConfigurationFixture()
        #expect(try level(bench) == "info")
        bench.file("/etc/entitled/entitled.json5", "{log: {level: 'error'}}")
        #expect(try level(bench) == "error")
        bench.file("/srv/b.json5", "{log: {level: 'warning'}}")
        bench.environment["ENTITLED_CONFIG"] = "b.json5"
        #expect(try level(bench) == "warning")
        bench.file("/srv/a.json5", "{log: {level: 'debug'}}")
        #expect(try level(bench, file: "a.json5") == "debug")
    }

    @Test func `a file that was asked for must be there`() throws {
        var bench = ConfigurationFixture()
        let byOption = #expect(throws: ConfigurationMistakes.self) { try level(bench, file: "a.json5") }
        #expect(byOption?.all.map(\.key) == ["--config"])
        bench.environment["ENTITLED_CONFIG"] = "b.json5"
        let byVariable = #expect(throws: ConfigurationMistakes.self) { try level(bench) }
        #expect(byVariable?.all.map(\.key) == ["ENTITLED_CONFIG"])
        #expect(byVariable?.all.first?.found.contains("/srv/b.json5") == true)
    }

    @Test func `a standard file that cannot be read is not skipped`() throws {
        var bench = ConfigurationFixture()
        bench.files["/etc/entitled/entitled.json5"] = .denied
        #expect(throws: ConfigurationMistakes.self) { try level(bench) }
    }

    @Test(arguments: ["", "{", "{ log: { level: secret-word } }", "{} {}", "\u{0}", "{ a: 'secret-word }"])
    func `what is no JSON5 is said without showing it`(text: String) throws {
        var bench = ConfigurationFixture()
        bench.file("/srv/a.json5", text)
        let mistakes = #expect(throws: ConfigurationMistakes.self) { try level(bench, file: "a.json5") }
        let line = try #require(mistakes?.all.first).description
        #expect(line.hasPrefix("/srv/a.json5: found "))
        #expect(!line.contains("secret-word"))
    }

    @Test(arguments: [
        ("{\n  log: { level: 'info' }\n  admin: {}\n}", "line 3, column 3: a comma or } is expected"),
        ("{\n  log: { level: info }\n}", "line 2, column 17: texts need quotes"),
        ("{\n  log {}\n}", "line 2, column 7: a colon is expected"),
        ("\n{\n  log: {\n", "line 3, column 8: an object begins here"),
        ("{\n  /* x\n }", "line 2, column 3: a comment begins here"),
        ("{\n  state_dir: 'x\n}", "line 2, column 14: a text begins here"),
        ("{ apps: [\n 1 2 ] }", "line 2, column 4: a comma or ]"),
        ("{}\n{}", "line 2, column 1: nothing more"), ("", "line 1, column 1: a value"),
        ("{\n\n: 1 }", "line 3, column 1: a name or }"),
        ("{ log: }", "line 1, column 8: a value"),
        (String(repeating: "[", count: 100_000), "line 1, column 65: nested too deep"),
        ("{ ingest: { max_body_bytes: 1e4000 } }", "ingest.max_body_bytes: a number too large"),
    ])
    func `the place where JSON5 ends is said`(text: String, reason: String) throws {
        var bench = ConfigurationFixture()
        bench.file("/srv/a.json5", text)
        let mistakes = #expect(throws: ConfigurationMistakes.self) { try level(bench, file: "a.json5") }
        #expect(mistakes?.all.first?.found.contains(reason) == true, "\(mistakes?.description ?? "")")
    }

    @Test func `a key that is there twice is a mistake`() throws {
        var bench = ConfigurationFixture()
        bench.file(
            "/srv/a.json5",
            "{ log: { level: 'info',\n 'level': 'debug' }, apps: [{}, { id: 1,\n id: 2 }],\n log: {}, }")
        let mistakes = #expect(throws: ConfigurationMistakes.self) { try level(bench, file: "a.json5") }
        #expect(mistakes?.all.map(\.key) == ["log.level", "apps[1].id", "log"])
        #expect(mistakes?.all.map(\.found).map { $0.suffix(6) } == ["line 2", "line 3", "line 4"])
    }

    @Test(arguments: [
        "{a: +1, b: -.5, c: 0x1F, d: Infinity, e: NaN, f: 1e3, g: null, 'h i': \"x\", $j: true, é: 1, k: [1, [], {}, ], }",
        "\u{FEFF}/* a */ // b\n{ log: { level: 'in\\'fo' }, /**/ m: \"a\\\nb\" } // c",
    ])
    func `all of JSON5 is let through`(text: String) throws {
        var bench = ConfigurationFixture()
        bench.file("/srv/a.json5", text)
        let mistakes = #expect(throws: ConfigurationMistakes.self) { try level(bench, file: "a.json5") }
        #expect(mistakes?.description.contains("no JSON5") == false, "\(mistakes?.description ?? "")")
    }

    @Test func `files are read, and what hinders is said`() {
        #expect(FileReading.read("/proc/self/comm").failure == nil)
        #expect(FileReading.read("/nowhere/at/all") == .missing)
        #expect(FileReading.read("/dev/null") == .contents([]))
        #expect(FileReading.read("/").failure?.isEmpty == false)
        #expect(FileReading.read("/dev/zero").failure?.isEmpty == false)
    }
}
