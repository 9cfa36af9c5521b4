import Base
import EntitledApp
import FoundationEssentials
import TestSupport
import Testing

/// What is refused, or warned of, when an endpoint is added.
struct EndpointAddressTests {
    @Test(arguments: [22, 25, 5432, 6379])
    func `a port of another service is refused, whether or not the name resolves`(port: Int) throws {
        let bench = try DoctorFixture()
        for host in ["nowhere.invalid", "198.100.1.1"] {
            let outcome = bench.run(["endpoints", "add", "https://\(host):\(port)/hooks"])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("port \(port) is for another service than HTTP"), "\(outcome.errors)")
        }
        let added = bench.run(["endpoints", "add", "https://nowhere.invalid:8443/hooks"])
        #expect(added.status == 0 && added.errorLines == 1)
        #expect(added.errors.hasPrefix("entitled: warning: nowhere.invalid "))
        #expect(added.errors.contains("until it has an address, webhooks wait and are tried again"))
        let id = try #require(
            bench.run(["endpoints", "list", "--json"]).document?["endpoints"]?.arrayValue?.first?["id"])
        let update = bench.run([
            "endpoints", "update", id.stringValue ?? "", "--url", "https://nowhere.invalid:\(port)/",
        ])
        #expect(update.status == 1)
    }

    @Test func `a query that seems to hold a secret is warned of`() throws {
        let bench = try DoctorFixture()
        for (url, isWarned) in [
            ("https://example.com/hooks?token=abc", true), ("https://example.com/hooks?a=1&API_Key=abc", true),
            ("https://example.com/token", false), ("https://example.com/hooks?tenant=demo", false),
        ] {
            let outcome = bench.run(["endpoints", "add", url])
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("--authorization and --header are sealed") == isWarned, "\(url)")
            #expect(!outcome.errors.contains("abc"))
        }
    }

    @Test func `secrets of an endpoint are taken from files`() throws {
        let bench = try DoctorFixture()
        let (authorization, headers) = ("\(bench.folder)/authorization", "\(bench.folder)/headers")
        try "Bearer hunter2\n".write(toFile: authorization, atomically: false, encoding: .utf8)
        try "X-Tenant: demo\nX-Key: hunter3\n".write(toFile: headers, atomically: false, encoding: .utf8)
        let url = "https://example.com/hooks"
        let added = bench.run([
            "endpoints", "add", url, "--authorization-file", authorization, "--header-file", headers, "--json",
        ])
        let id = try #require(added.document?["id"]?.stringValue)
        let shown = bench.run(["endpoints", "show", id, "--json"]).document
        #expect(shown?["authorization"] == .bool(true))
        #expect(shown?["headers"] == .strings(["X-Tenant", "X-Key"]))
        for (options, wanted) in [
            (["--authorization-file", headers], "must have one line"),
            (["--authorization-file", "\(bench.folder)/none"], "cannot be read"),
            (["--authorization-file", authorization, "--authorization", "x"], "cannot be combined"),
        ] {
            let outcome = bench.run(["endpoints", "add", url] + options)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(wanted) && !outcome.errors.contains("hunter"), "\(outcome.errors)")
        }
    }
}
