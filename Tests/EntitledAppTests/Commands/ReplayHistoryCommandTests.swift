import Base
import EntitledApp
import Testing

/// What is asked wrongly is refused before anybody is asked.
struct ReplayHistoryCommandTests {
    private static let app = """
        { apps: [{ id: 'demo', bundle_id: 'com.example.app', apple_app_id: 7, environments: ['Production', 'Sandbox'] },
            { id: 'young', bundle_id: 'com.example.young', environments: ['Sandbox'] }] }
        """

    private func run(_ words: String...) -> ProgramFixture.Outcome {
        var bench = ProgramFixture()
        bench.configuration.file("/srv/c.json5", Self.app)
        return bench.run(["replay", "history"] + words + ["--config", "c.json5"])
    }

    private static let refusals: [([String], String)] = [
        (["--app", "nobody"], "configured: demo, young"), (["--from", "tomorrow"], "--from"),
        (["--environment", "Xcode"], "--environment"),
        (["--app", "young", "--environment", "Production"], "does not accept data of Production"),
        (["--from", "181d"], "Apple keeps its history of Production for 180 days"),
        (["--environment", "Sandbox", "--from", "31d"], "Apple keeps its history of Sandbox for 30 days"),
        // Without production, the sandbox is meant.
        (["--app", "young", "--from", "31d"], "30 days"),
        (["--from", "2d", "--to", "3d"], "--to must be after --from"),
        (["--from", "2999-01-01T00:00:00Z", "--to", "3000-01-01T00:00:00Z"], "--from must be past"),
        (["--transaction", "20x"], "is not a transaction id"),
        (["--type", "did_renew"], "is not a notification type of Apple"),
        (["--rate", "51"], "--rate"),
    ]

    @Test(arguments: refusals) func `wrong use is one line that says what is right`(words: [String], part: String) {
        var all = ["--app": "demo", "--from": "7d", "--to": "0s"]
        for index in stride(from: 0, to: words.count, by: 2) { all[words[index]] = words[index + 1] }
        var bench = ProgramFixture()
        bench.configuration.file("/srv/c.json5", Self.app)
        let done = bench.run(
            ["replay", "history", "--config", "c.json5"]
                + all.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
        #expect(done.status == 2, "\(done.errors)")
        #expect(done.errorLines == 1, "\(done.errors)")
        #expect(done.errors.contains(part), "\(done.errors)")
    }

    @Test func `an app without a key is no wrong use`() {
        let done = run("--app", "demo", "--from", "180d", "--to", "0s")
        #expect(done.status == 1)
        #expect(done.errors.contains("no server_api"))
        #expect(done.errorLines == 1)
        #expect(run("--from", "7d", "--to", "0s").errors.contains("entitled replay history needs --app ID"))
    }
}
