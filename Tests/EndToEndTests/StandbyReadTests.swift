import Base
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// `database.api_read_url`: a real standby answers what it may, and the primary the rest.
///
/// Serialised: each test has two Postgres of its own.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct StandbyReadTests {
    private static let publicKey = "appl_a_public_key_for_tests"
    private static let secretKey = "sk_a_secret_key_for_tests"

    private let cluster: TestCluster
    private let standby: TestStandby
    private let site: Site
    private let worker: Program
    private let api: Program
    private let port: UInt16

    init() throws {
        cluster = try TestCluster()
        let database = try cluster.makeDatabase()
        site = try Site(database)
        try site.run("migrate")
        standby = try TestStandby(of: cluster)
        let name = database.url.split(separator: "?").first?.split(separator: "/").last.map(String.init) ?? ""
        try site.configure([
            "database": .object([
                "url": .string(database.url),
                "api_read_url": .string(
                    "postgresql:///\(name)?host=\(standby.host)&user=entitled&options=-c%20role%3Dentitled_api"),
            ]),
            "api": .object([
                "listen": .string("127.0.0.1:0"), "public_keys": .strings([Self.publicKey]),
                "secret_keys": .strings([Self.secretKey]),
            ]),
        ])
        worker = try site.start("worker")
        api = try site.start("api")
        port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
    }

    private func get(_ id: String, key: String = StandbyReadTests.publicKey) -> HTTPCall {
        HTTPCall.send("GET", "/v1/subscribers/\(id)", headers: ["Authorization": "Bearer \(key)"], to: port)
    }

    /// Sets an attribute by a public key.
    private func set(_ id: String, _ value: Int) -> Int {
        let body = JSON.object([
            "attributes": .object([
                "number": .object(["value": .string("\(value)"), "updated_at_ms": .int(Int64(value))])
            ])
        ])
        return HTTPCall.send(
            "POST", "/v1/subscribers/\(id)/attributes", headers: ["Authorization": "Bearer \(Self.publicKey)"],
            body: body.bytes, to: port
        ).status
    }

    private func reads(_ result: String) throws -> Int {
        let text = site.get("/metrics", from: try api.address("admin")).text
        let line = text.split(separator: "\n").first {
            $0.hasPrefix("entitled_api_standby_reads_total{result=\"\(result)\"}")
        }
        return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
    }

    private func end() throws {
        for program in [worker, api] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
    }

    @Test func `the standby answers public keys, never unknown customers and secret keys, and what is written is read`()
        throws
    {
        #expect(get("kim").status == 201)
        try eventually("the standby answers; api said: \(api.log.suffix(2000))") {
            #expect(get("kim").status == 200)
            return try reads("standby") > 0
        }
        #expect(try reads("unknown") <= 1)
        let before = try reads("standby")
        for _ in 0..<10 { #expect(get("kim", key: Self.secretKey).status == 200) }
        #expect(try reads("standby") == before)
        // Each customer is new, and there at once; a customer that was made a moment ago is no unknown one.
        for number in 0..<20 {
            #expect(get("new\(number)").status == 201)
            #expect(get("new\(number)").status == 200)
        }
        // A grant is seen by the very next request of the app, again and again.
        for number in 0..<10 {
            let body = JSON.object(["duration": .string("daily")])
            let grant = HTTPCall.send(
                "POST", "/v1/subscribers/kim\(number)/entitlements/pro/promotional",
                headers: ["Authorization": "Bearer \(Self.secretKey)"], body: body.bytes, to: port)
            #expect(grant.status == 201, "\(grant.text)")
            let entitlements = get("kim\(number)").json["subscriber"]?["entitlements"]
            #expect(entitlements?["pro"] != nil)
        }
        // What is written under one id of a customer is read under the others.
        for number in 0..<10 {
            let (one, other) = ("$RCAnonymousID:one\(number)", "other\(number)")
            let ids = JSON.object(["app_user_id": .string(one), "new_app_user_id": .string(other)])
            let joined = HTTPCall.send(
                "POST", "/v1/subscribers/identify", headers: ["Authorization": "Bearer \(Self.publicKey)"],
                body: ids.bytes,
                to: port)
            #expect(joined.status < 300, "\(joined.text)")
        }
        try eventually("the standby knows them; api said: \(api.log.suffix(2000))") {
            let before = try reads("standby")
            _ = get("$RCAnonymousID:one9")
            return try reads("standby") > before
        }
        for number in 0..<10 {
            let body = JSON.object(["duration": .string("daily")])
            let grant = HTTPCall.send(
                "POST", "/v1/subscribers/other\(number)/entitlements/pro/promotional",
                headers: ["Authorization": "Bearer \(Self.secretKey)"], body: body.bytes, to: port)
            #expect(grant.status == 201, "\(grant.text)")
            #expect(get("$RCAnonymousID:one\(number)").json["subscriber"]?["entitlements"]?["pro"] != nil)
        }
        try end()
    }

    @Test func `a standby that stands still, is away or is promoted is passed over, and taken again`() throws {
        #expect(get("kim").status == 201)
        try eventually("the standby answers; api said: \(api.log.suffix(2000))") {
            _ = get("kim")
            return try reads("standby") > 0
        }
        // It replays nothing more, while the primary goes on.
        let connection = try PostgresConnection(
            PostgresTarget(url: "postgresql:///postgres?host=\(standby.host)&user=entitled"))
        _ = try connection.query("SELECT pg_wal_replay_pause()")
        #expect(get("lee").status == 201)
        try eventually("it is too far behind") {
            let before = try reads("behind")
            #expect(get("kim").status == 200)
            return try reads("behind") > before
        }
        #expect(get("lee").status == 200)
        _ = try connection.query("SELECT pg_wal_replay_resume()")
        let before = try reads("standby")
        try eventually("it is taken again") {
            _ = get("kim")
            return try reads("standby") > before
        }
        try standby.stop()
        for _ in 0..<20 { #expect(get("kim").status == 200) }
        #expect(try reads("unavailable") > 0)
        try standby.start()
        let away = try reads("standby")
        try eventually(timeout: .seconds(40), "it is taken again") {
            #expect(get("kim").status == 200)
            return try reads("standby") > away
        }
        try standby.promote()
        #expect(get("mia").status == 201)
        try eventually("what was promoted is no standby any more") {
            let before = try reads("behind")
            #expect(get("kim").status == 200)
            return try reads("behind") > before
        }
        #expect(get("mia").status == 200)
        try end()
    }
}
