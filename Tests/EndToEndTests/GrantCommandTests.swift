import Base
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Granting by command and by REST, by real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct GrantCommandTests {
    private let site: Site

    init() throws {
        site = try Site(
            try TestCluster.shared.makeMigratedDatabase(),
            ["api": .object(["listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_for_a_test"])])])
    }

    @Test func `who grants and takes back is in the log, and it is done once`() throws {
        let given = try site.run(
            "customers", "grant", "bob", "pro", "--duration", "weekly", "--reason", "ticket 77", "--create", "--json"
        ).document
        #expect(given?["changed"] == .bool(true))
        #expect(given?["granted"]?["product_id"] == .string("rc_promo_pro_weekly"))
        let again = try site.run("customers", "grant", "bob", "pro", "--duration", "weekly", "--json").document
        #expect(again?["changed"] == .bool(false))
        #expect(again?["granted"] == given?["granted"])
        let page = try site.run("customers", "show", "bob").text
        #expect(page.contains("granted"))
        #expect(page.contains("ticket 77"))
        #expect(try site.run("purchases", "list").text.contains("rc_promo_pro_weekly"))
        let taken = try site.run("customers", "revoke-grant", "bob", "pro").text
        #expect(taken.contains("1 grant of pro taken back from bob"))
        #expect(try site.run("customers", "revoke-grant", "bob", "pro").text.contains("nothing to take back"))
        #expect(try site.run("customers", "show", "bob").text.contains("the grant was revoked"))
        try site.run("rebuild", "--dry-run")
    }

    @Test func `what cannot be granted is said in one line, and with the right status`() throws {
        for words in [["--duration", "fortnight"], [], ["--duration", "daily", "--until", "2030-01-01"]] {
            let program = try Program(
                ["customers", "grant", "bob", "pro"] + words + ["--config", "\(site.folder)/entitled.json5"],
                folder: site.folder)
            #expect(try program.wait() == 2)
        }
        let past = try site.run("customers", "grant", "bob", "pro", "--until", "2020-01-01", "--create", status: 1)
        #expect(past.logLines.count == 1)
        let unknown = try site.run("customers", "grant", "bob", "gold", "--duration", "daily", status: 1)
        #expect(unknown.log.contains("there are: pro"))
        try site.run("customers", "revoke-grant", "bob", "pro", status: 1)
        try site.run("endpoints", "add", "https://example.com/hooks", "--app", "$promotional")
        try site.run("endpoints", "add", "https://example.com/hooks", "--app", "$other", status: 2)
    }

    @Test func `the api process grants, with the role that it has`() throws {
        let process = try site.start("api")
        defer { process.kill(SIGTERM) }
        let address = try process.address("api")
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        let answer = HTTPCall.send(
            "POST", "/v1/subscribers/bob/entitlements/pro/promotional",
            headers: ["Authorization": "Bearer sk_for_a_test"], body: Array(#"{"duration":"yearly"}"#.utf8), to: port)
        #expect(answer.status == 201)
        #expect(answer.json["subscriber"]?["subscriptions"]?["rc_promo_pro_yearly"]?["store"] == .string("promotional"))
        let shown = try site.run("customers", "show", "bob").text
        #expect(shown.contains("by api"))
    }
}
