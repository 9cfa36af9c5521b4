import Base
import EntitledApp
import Testing

struct RedactionTests {
    private static let sealing = "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gMTI="
    private static let secrets = ["hunter2", "appl_hidden", "sk_hidden", sealing]

    private static let text = """
        { database: { url: "postgres://u:hunter2@h/d", ingest_url: "postgres://i:hunter2@h/d",
                      worker_url: "postgres://w:hunter2@h/d", api_url: "postgres://a:hunter2@h/d" },
          api: { public_keys: ["appl_hidden"], secret_keys: ["sk_hidden"] }, webhooks: { secret_keys: ["\(sealing)"], proxy: "http://u:hunter2@proxy.test:4750" } }
        """

    private func shown(_ text: String) -> [String] {
        Self.secrets.filter { text.contains($0) }
    }

    @Test func `no description of a configuration shows a secret`() throws {
        let configuration = try ConfigurationFixture().parse(Self.text)
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(shown(dumped).isEmpty)
        #expect(shown("\(configuration) \(String(reflecting: configuration)) \(configuration.settings)").isEmpty)
        #expect(configuration.database.url?.exposed.contains("hunter2") == true)
    }

    @Test(arguments: [[], ["--json"]])
    func `check-config shows no secret`(flags: [String]) {
        var bench = ProgramFixture()
        bench.configuration.file("/srv/c.json5", Self.text)
        let done = bench.run(["check-config", "--config", "c.json5"] + flags)
        #expect(done.status == 0, "\(done.errors)")
        #expect(shown(done.output + done.errors).isEmpty)
        #expect(done.output.contains("[redacted]"))
    }

    @Test(arguments: [[], ["--json"]])
    func `mistakes in secrets show no secret`(flags: [String]) {
        var bench = ProgramFixture()
        bench.configuration.environment = ["ENTITLED_API_SECRET_KEYS": "a hunter2"]
        bench.configuration.file(
            "/srv/c.json5",
            """
            { database: { url: "hunter2", api_url: ["hunter2"] },
              webhooks: { secret_keys: ["hunter2", { x: "hunter2" }], proxy: "http://u:hunter2@proxy.test" },
              api: { public_keys: "hunter2" } }
            """)
        let done = bench.run(["check-config", "--config", "c.json5"] + flags)
        #expect(done.status == 2)
        #expect(shown(done.output + done.errors).isEmpty)
        for key in [
            "database.url", "database.api_url", "webhooks.secret_keys[0]", "webhooks.secret_keys[1]",
            "api.secret_keys[0]", "api.public_keys", "webhooks.proxy",
        ] {
            #expect((done.output + done.errors).contains(key))
        }
    }
}
