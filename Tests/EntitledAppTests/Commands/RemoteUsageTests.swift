import EntitledApp
import FoundationEssentials
import TestSupport
import Testing

/// What commands say of `--url` and of keys before anything is sent.
struct RemoteUsageTests {
    private static let key = "op_a-secret-of-this-test"

    private func run(_ words: [String], _ environment: [String: String] = [:]) -> ProgramFixture.Outcome {
        var fixture = ProgramFixture()
        fixture.configuration.environment = environment
        return fixture.run(words)
    }

    @Test(arguments: [
        ("http://example.com", "http is for this host's own addresses"), ("http://10.0.0.1:8082", "unencrypted"),
        ("ftp://example.com", "cannot be used"), ("example.com", "cannot be used"),
        ("https://anna:word@example.com", "has a user or password in it"), ("https://example.com/?a=b", "has a query"),
    ])
    func `an address that no key is sent to is refused`(url: String, reason: String) {
        for (words, environment) in [
            (["events", "list", "--url", url], ["ENTITLED_KEY": Self.key]),
            (["events", "list"], ["ENTITLED_KEY": Self.key, "ENTITLED_URL": url]),
        ] {
            let outcome = run(words, environment)
            #expect(outcome.status == 2 && outcome.errorLines == 1, "\(outcome.errors)")
            #expect(outcome.errors.contains(reason), "\(outcome.errors)")
            #expect(!outcome.errors.contains("word@"), "\(outcome.errors)")
        }
    }

    @Test func `a key comes from a file or the environment, and is shown nowhere`() throws {
        let url = ["--url", "http://127.0.0.1:1"]
        #expect(run(["status"] + url).errors.contains("needs a key"))
        let wrong = run(["status"] + url, ["ENTITLED_KEY": "sk_secret word"])
        #expect(wrong.status == 2 && wrong.errors.contains("begins with op_") && !wrong.errors.contains("word"))
        let both = run(["status"] + url, ["ENTITLED_KEY": Self.key, "ENTITLED_KEY_FILE": "/none"])
        #expect(both.status == 2 && both.errors.contains("cannot be combined"))
        #expect(run(["status", "--key-file", "/none"]).errors.contains("--key-file needs --url"))
        #expect(run(["status", "--key-file", "/none"] + url).errors.contains("cannot be read"))
        let unreachable = run(["status"] + url, ["ENTITLED_KEY": Self.key])
        #expect(unreachable.status == 1 && unreachable.errorLines == 1, "\(unreachable.errors)")
        #expect(unreachable.errors.contains("no connection to http://127.0.0.1:1"), "\(unreachable.errors)")
        #expect(!unreachable.errors.contains(Self.key))
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        try "\(Self.key)\n".write(toFile: "\(folder)/key", atomically: true, encoding: .utf8)
        let file = run(["status", "--key-file", "\(folder)/key"] + url, ["ENTITLED_KEY": "other"])
        #expect(file.status == 1 && file.errors.contains("no connection"), "\(file.errors)")
    }

    @Test func `commands that need the host say so`() {
        for words in [
            ["migrate"], ["rebuild"], ["users", "list"], ["secrets", "rewrap"],
            ["replay", "cancel", "1"],
        ] {
            let option = run(words + ["--url", "https://console.example.com"])
            #expect(option.status == 2 && option.errorLines == 1)
            #expect(option.errors.contains("works on the host of the installation only"), "\(option.errors)")
            let variable = run(words, ["ENTITLED_URL": "https://console.example.com"])
            #expect(variable.status == 2 && variable.errors.contains("unset it on this host"), "\(variable.errors)")
        }
        // What works on no installation's data goes on as ever.
        #expect(run(["version"], ["ENTITLED_URL": "https://console.example.com"]).status == 0)
        // Of an endpoint it is the command's own option.
        let update = run(["endpoints", "update", "ep_1", "--url", "https://example.com/hook"])
        #expect(!update.errors.contains("host of the installation"), "\(update.errors)")
    }

    @Test(arguments: [
        ["deliveries", "resend", "dlv_1", "--as-new-id"], ["endpoints", "enable", "ep_1", "--drop-held"],
        ["customers", "grant", "anna", "pro", "--duration", "daily", "--create"],
    ])
    func `parts of commands that need the host say so`(words: [String]) {
        let outcome = run(
            words + ["--url", "http://127.0.0.1:1", "--reason", "none"], ["ENTITLED_KEY": Self.key])
        #expect(outcome.status == 2, "\(outcome.errors)")
        #expect(outcome.errors.contains("works on the host of the installation only"), "\(outcome.errors)")
    }

    @Test func `a change by URL needs a reason, and a local one takes none that is kept nowhere`() {
        let change = ["endpoints", "disable", "ep_1"]
        let remote = run(change + ["--url", "http://127.0.0.1:1"], ["ENTITLED_KEY": Self.key])
        #expect(remote.status == 2 && remote.errors.contains("needs --reason"), "\(remote.errors)")
        for words in [["--reason", "x"], ["--wait"]] {
            let local = run(change + words)
            #expect(local.status == 2 && local.errors.contains("needs --url"), "\(local.errors)")
        }
    }

    /// What is no operator API, or is not there now, by the path of a server that answers anything.
    @Test(arguments: [
        ("retry", "is not available (503); try again in 7 s"),
        ("status/503", "is not available (503); try again later"),
        ("status/429", "accepts no more requests for now (429); try again later"),
        ("redirect", "is not an operator API (it answers 302, which leads elsewhere"),
        ("status/401", "is not an operator API (it answers 401 by itself"),
        ("status/200", "is not an operator API (the answer is not JSON)"), ("garbage", "127.0.0.1"),
        ("close", "127.0.0.1"),
        ("status/500", "answers 500 without an error of the API"),
    ])
    func `what else answers is told in one line`(path: String, reason: String) throws {
        let server = try HostileServer()
        defer { server.stop() }
        let outcome = run(["status", "--url", server.url("/\(path)")], ["ENTITLED_KEY": Self.key])
        #expect(outcome.status == 1 && outcome.errorLines == 1, "\(outcome.errors)")
        #expect(outcome.errors.contains(reason), "\(outcome.errors)")
        #expect(!outcome.errors.contains(Self.key), "\(outcome.errors)")
    }

    @Test func `a change without an answer is asked for again under the same key`() throws {
        let server = try HostileServer()
        defer { server.stop() }
        let outcome = run(
            ["endpoints", "disable", "ep_1", "--reason", "r", "--url", server.url("/close")], ["ENTITLED_KEY": Self.key]
        )
        #expect(outcome.status == 1 && outcome.errorLines == 1, "\(outcome.errors)")
        let keys = server.requests.flatMap { request in
            request.head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("idempotency-key:") }
        }
        #expect(keys.count == 3 && Set(keys).count == 1, "\(keys)")
        #expect(server.requests.allSatisfy { $0.head.hasPrefix("POST /close/operator/v1/endpoints/ep_1/disable ") })
    }
}
