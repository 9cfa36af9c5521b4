import Base
import FoundationEssentials
import StoreSimulator
import TestSupport
import Testing

/// What an endpoint can be set to, by the commands.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct EndpointSettingsTests {
    @Test func `everything that can be set is shown, and nothing secret`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        let added = try #require(
            try site.run(
                "endpoints", "add", "https://127.0.0.1:1/old", "--authorization", "hunter2", "--header",
                "X-Key: hunter3",
                "--retry-schedule", "1m,5m", "--event", "RENEWAL", "--asymmetric", "--json"
            ).document)
        let id = try #require(added["id"]?.stringValue)
        let publicKey = try #require(added["public_key"]?.stringValue)
        #expect(publicKey.hasPrefix("whpk_"))
        func show() throws -> (document: JSON, text: String) {
            let program = try site.run("endpoints", "show", id, "--json")
            let text = try site.run("endpoints", "show", id).text
            for secret in ["hunter", "whsec_"] { #expect(!program.text.contains(secret) && !text.contains(secret)) }
            return (try #require(program.document), text)
        }
        let first = try show()
        #expect(first.document["authorization"] == .bool(true) && first.document["headers"] == .strings(["X-Key"]))
        #expect(first.document["public_key"] == .string(publicKey) && first.document["format"] == .string("revenuecat"))
        #expect(first.document["retry_schedule"]?["waits"] == .strings(["1m", "5m"]))
        #expect(first.document["secrets"]?.arrayValue?.count == 1)
        #expect(first.text.contains("3 attempts in 6 minutes (its own)") && first.text.contains(publicKey))

        try site.run(
            "endpoints", "update", id, "--url", "https://127.0.0.1:1/new", "--all-events", "--app", "demo",
            "--no-authorization", "--no-header", "x-key", "--header", "X-Other: hunter4", "--retry-schedule", "default",
            "--symmetric")
        let second = try show()
        #expect(second.document["url"] == .string("https://127.0.0.1:1/new"))
        #expect(second.document["events"] == .array([]) && second.document["apps"] == .strings(["demo"]))
        #expect(second.document["authorization"] == .bool(false) && second.document["headers"] == .strings(["X-Other"]))
        #expect(second.document["public_key"] == .null)
        #expect(second.text.contains("6 attempts in 157 hours (as configured)"))

        try site.run("endpoints", "rotate-secret", id, "--overlap", "2h")
        #expect(try show().document["secrets"]?.arrayValue?.count == 2)
        #expect(try site.run("endpoints", "rotate-secret", id, "--overlap", "0s").text.contains("No former one signs"))
        #expect(try show().document["secrets"]?.arrayValue?.count == 1)
    }

    @Test func `a consumer's own secret signs, and from the return of a rotation on every webhook has both`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let site = try Site(database)
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let path = "\(site.folder)/secret"
        try "\(secret)\n".write(toFile: path, atomically: true, encoding: .utf8)
        let added = try #require(
            try site.run("endpoints", "add", consumer.url(), "--secret-file", path, "--json").document)
        #expect(added["secret"] == .string(secret))
        let id = try #require(added["id"]?.stringValue)
        let ingest = try site.start("ingest")
        let worker = try site.start("worker")
        let address = try ingest.address("ingest")
        var secrets = [secret]
        for number in UInt64(0)..<4 {
            var life = SubscriberLife(app: Site.app, seed: 48, number: number)
            #expect(try site.post(life.start(at: Site.start), to: address) == 200)
            let request = try #require(try consumer.wait(Int(number) + 1).last)
            for live in secrets {
                let fault = try #require(WebhookSignatureCheck(secrets: [live])).fault(
                    id: request.id, time: request.headers["webhook-timestamp"],
                    standard: request.headers["webhook-signature"],
                    revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
                    now: SystemClock().now())
                #expect(fault == nil, "\(number): \(worker.log.suffix(500))")
            }
            let rotated = try site.run("endpoints", "rotate-secret", id, "--json").document
            secrets.append(try #require(rotated?["secret"]?.stringValue))
        }
    }

    @Test func `content and exceptions of an endpoint are shown, and change`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        func add(_ words: String...) throws -> JSON {
            let id = try #require(
                try site.run(["endpoints", "add", "https://127.0.0.1:1", "--json"] + words).document?["id"]?.stringValue
            )
            return try show(id)
        }
        func show(_ id: String) throws -> JSON {
            try #require(try site.run("endpoints", "show", id, "--json").document)
        }
        let plain = try add("--include", "subscriber", "--except", "TEST", "--except", "PRODUCT_CHANGE")
        #expect(plain["includes_subscriber"] == .bool(true) && plain["extension_version"] == .null)
        #expect(plain["excepted_events"] == .strings(["TEST", "PRODUCT_CHANGE"]) && plain["events"] == .array([]))
        let id = try #require(plain["id"]?.stringValue)
        let text = try site.run("endpoints", "show", id).text
        #expect(text.contains("all but TEST, PRODUCT_CHANGE") && text.contains("revenuecat, with the customer"))
        try site.run("endpoints", "update", id, "--event", "CONSUMPTION_REQUEST", "--include", "none")
        let named = try show(id)
        #expect(named["excepted_events"] == .array([]) && named["events"] == .strings(["CONSUMPTION_REQUEST"]))
        #expect(named["includes_subscriber"] == .bool(false))
        try site.run("endpoints", "update", id, "--except", "RENEWAL")
        #expect(try show(id)["events"] == .array([]))
        try site.run("endpoints", "update", id, "--all-events")
        #expect(try show(id)["excepted_events"] == .array([]))
        let firebase = try add("--format", "firebase")
        #expect(firebase["format"] == .string("firebase") && firebase["extension_version"] == .string("0.1.18"))
        let other = try #require(firebase["id"]?.stringValue)
        try site.run("endpoints", "update", other, "--extension-version", "0.2.0")
        #expect(try show(other)["extension_version"] == .string("0.2.0"))
    }

    struct Refused: Sendable {
        let words: [String]
        let status: Int32
        let says: String
    }

    @Test func `what makes no sense is refused with one line`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        let raw = try #require(
            try site.run("endpoints", "add", "https://127.0.0.1:1", "--format", "raw", "--json").document?["id"]?
                .stringValue)
        let events = try #require(
            try site.run("endpoints", "add", "https://127.0.0.1:1", "--json").document?["id"]?.stringValue)
        let cases = [
            Refused(words: ["update", events], status: 2, says: "at least one option"),
            Refused(
                words: ["update", events, "--event", "RENEWAL", "--all-events"], status: 2, says: "cannot be combined"),
            Refused(words: ["update", events, "--event", "DID_RENEW"], status: 2, says: "no such event"),
            Refused(
                words: ["update", events, "--event", "initial_purchase"], status: 2, says: "write INITIAL_PURCHASE"),
            Refused(
                words: ["update", events, "--event", "SUBSCRIPTION_PAUSED"], status: 2,
                says: "entitled never sends SUBSCRIPTION_PAUSED"),
            Refused(words: ["update", raw, "--event", "did_renew"], status: 2, says: "did you mean DID_RENEW?"),
            Refused(words: ["update", events, "--header", "Host: x"], status: 2, says: "Host"),
            Refused(words: ["update", events, "--no-header", "X-No"], status: 1, says: "X-No"),
            Refused(words: ["update", events, "--retry-schedule", "1h,soon"], status: 2, says: "soon"),
            Refused(words: ["update", events, "--url", "https://127.0.0.2:1/"], status: 0, says: ""),
            Refused(words: ["update", events, "--url", "https://10.0.0.1/"], status: 1, says: "10.0.0.1"),
            Refused(words: ["update", "we_0", "--all-apps"], status: 1, says: "no endpoint we_0"),
            Refused(words: ["rotate-secret", events, "--overlap", "31d"], status: 2, says: "from 0s to 30d"),
            Refused(words: ["add", "https://127.0.0.1:1", "--format", "xml"], status: 2, says: "raw"),
            Refused(words: ["test", raw], status: 1, says: "Apple"),
            Refused(
                words: ["update", events, "--event", "RENEWAL", "--except", "TEST"], status: 2,
                says: "cannot be combined"),
            Refused(words: ["update", events, "--except", "RENEWED"], status: 2, says: "no such event"),
            Refused(
                words: ["update", events, "--extension-version", "1"], status: 1,
                says: "does not have the format firebase"),
            Refused(
                words: ["update", raw, "--include", "subscriber"], status: 1, says: "only events can include customers"),
            Refused(
                words: ["add", "https://127.0.0.1:1", "--event", "TEST", "--except", "RENEWAL"], status: 2,
                says: "cannot be combined"),
            Refused(
                words: ["add", "https://127.0.0.1:1", "--format", "raw", "--include", "subscriber"], status: 2,
                says: "--include subscriber needs --format revenuecat"),
            Refused(
                words: ["add", "https://127.0.0.1:1", "--extension-version", "1"], status: 2, says: "--format firebase"),
            Refused(words: ["add", "ftp://example.com"], status: 2, says: "ftp://example.com cannot be used"),
            Refused(words: ["add", "http://a.invalid"], status: 1, says: "http: is only for"),
            Refused(
                words: ["add", "https://127.0.0.1:1", "--since", "2999-01-01T00:00:00Z"], status: 2,
                says: "is in the future"),
            Refused(words: ["update", raw, "--event", "RENEWAL"], status: 2, says: "RENEWAL is an event"),
        ]
        for test in cases {
            let program = try Program(
                ["endpoints"] + test.words + ["--config", "\(site.folder)/entitled.json5"], folder: site.folder)
            #expect(try program.wait() == test.status, "\(test.words): \(program.log)")
            #expect(program.log.contains(test.says), "\(test.words): \(program.log)")
            #expect(program.logLines.count == (test.status == 0 ? 0 : 1))
        }
        // Apple adds types.
        let note = try site.run("endpoints", "update", raw, "--event", "DID_RENEWW")
        #expect(note.log.contains("did you mean DID_RENEW?"))
    }
}
