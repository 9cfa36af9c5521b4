import Base
import Glibc
import TestSupport
import Testing

/// Keys of the REST api and the catalogue, by the program.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct KeyProcessTests {
    private static let path = "/v1/product_entitlement_mapping"

    private func status(_ api: Program, _ key: String) throws -> Int {
        let port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
        return HTTPCall.send("GET", KeyProcessTests.path, headers: ["Authorization": "Bearer \(key)"], to: port).status
    }

    @Test func `a key works at once when it is made, and is refused within five seconds when it is revoked`() throws {
        let site = try Site(
            try TestCluster.shared.makeMigratedDatabase(),
            ["api": .object(["listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_of_the_configuration"])])])
        let api = try site.start("api")
        #expect(try status(api, "sk_of_the_configuration") == 200)
        let made = try #require(
            try site.run("keys", "create", "--kind", "public", "--app", "demo", "--name", "shop", "--json").document)
        let (id, key) = (try #require(made["id"]?.stringValue), try #require(made["key"]?.stringValue))
        #expect(key.wholeMatch(of: /appl_[A-Za-z0-9]{32}/) != nil)
        #expect(try status(api, key) == 200)
        try eventually("its use is noted") {
            let rows = try site.run("keys", "list", "--json").document?["keys"]?.arrayValue ?? []
            return rows.contains { $0["id"] == .string(id) && $0["last_used"]?.stringValue != nil }
        }
        let list = try site.run("keys", "list")
        #expect(!list.text.contains(key) && !list.text.contains("sk_of_the_configuration"))
        #expect(list.text.contains("\(key.prefix(9))…") && list.text.contains("configuration"))
        #expect(list.text.contains("shop"))
        try site.run("keys", "revoke", id)
        try eventually(timeout: .seconds(5), "the key is refused") { try status(api, key) == 401 }
        #expect(try status(api, "sk_of_the_configuration") == 200)
        #expect(try site.run("keys", "revoke", id).text.contains("before"))
        try site.run("keys", "revoke", "key_of_nobody", status: 1)
        api.kill(SIGTERM)
        #expect(try api.wait() == 0)
        #expect(!api.log.contains(key))
    }

    @Test func `wrong use of the commands is told`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        try site.run("keys", "create", status: 2)
        try site.run("keys", "create", "--kind", "public", "--scope", "read", status: 2)
        try site.run("keys", "create", "--kind", "secret", "--app", "nobody", status: 2)
        try site.run("keys", "revoke", "configuration", status: 1)
    }

    @Test func `the catalogue is compared with what was bought`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let offering: JSON = .object([
            "packages": .array([.object(["id": .string("$rc_monthly"), "product": .string("pro_monthly")])])
        ])
        let site = try Site(database, ["offerings": .object(["default": offering])])
        #expect(try site.run("catalog", "check", "--json").document?["ok"] == .bool(true))
        try database.execute(
            """
            INSERT INTO entitled.product (product_id, app, environment, kind, first_seen_ms)
            VALUES ('pro_weekly', 'demo', 0, 'Auto-Renewable Subscription', 1)
            """)
        let checked = try site.run("catalog", "check", status: 1)
        #expect(checked.text.contains("error: pro_weekly was bought and is in no entitlement"))
        #expect(checked.text.contains("warning: pro_monthly is offered"))
    }
}
