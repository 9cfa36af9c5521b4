import Base
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// A dump of an installation with a history, restored into another cluster by the commands of Backup.md, on a host that
/// has nothing but the key.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct DumpRestoreTests {
    // MARK: - The page

    /// The shell commands in a section of Backup.md, block by block.
    private static func commands(of section: String) throws -> [String] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let page = try String(
            contentsOfFile: "/\(root)/Sources/EntitledApp/EntitledApp.docc/Backup.md", encoding: .utf8)
        let parts = page.components(separatedBy: "\n## ")
        let part = try #require(parts.first { $0.hasPrefix("\(section)\n") })
        return part.components(separatedBy: "\n```sh\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
    }

    /// Runs such a block as a person does, who has the program in the path; what it said.
    @discardableResult
    private func shell(_ block: String, _ variables: [String: String], in site: Site) throws -> String {
        let folder = "\(site.folder)/bin"
        if mkdir(folder, 0o755) == 0 {
            let script = "#!/bin/sh\nexec '\(Program.path)' \"$@\" --config '\(site.folder)/entitled.json5'\n"
            try script.write(toFile: "\(folder)/entitled", atomically: true, encoding: .utf8)
            chmod("\(folder)/entitled", 0o755)
        }
        let command = try Program(
            running: ["/bin/sh", "-euc", "cd '\(site.folder)'\n\(block)"], folder: site.folder,
            environment: variables.merging(["PATH": "\(folder):/usr/bin:/bin"]) { given, _ in given })
        #expect(try command.wait(timeout: .seconds(90)) == 0, "\(block): \(command.text)\(command.log)")
        return command.text
    }

    // MARK: - What is compared

    /// What every table has, by its name.
    private func contents(_ database: TestDatabase) throws -> [String: String] {
        let connection = try database.connect()
        let tables = try connection.query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'entitled'::regnamespace AND relkind = 'r'"
        ).map { try $0.text(0) }
        var contents: [String: String] = [:]
        for table in tables {
            contents[table] = try connection.query(
                """
                SELECT count(*) || ' rows, ' || coalesce(md5(string_agg(t::text, chr(10) ORDER BY t::text)), '')
                FROM entitled."\(table)" t
                """
            ).one().text(0)
        }
        return contents
    }

    private func roles(_ database: TestDatabase) throws -> [String] {
        try database.texts("SELECT rolname FROM pg_roles WHERE rolname LIKE 'entitled\\_%' ORDER BY 1")
    }

    private func port(_ program: Program, _ role: String) throws -> UInt16 {
        try #require(try program.address(role).split(separator: ":").last.flatMap { UInt16($0) })
    }

    /// What REST says of a customer; the time of the request is left out.
    private func subscriber(_ id: String, key: String, from api: Program) throws -> JSON? {
        let answer = HTTPCall.send(
            "GET", "/v1/subscribers/\(id)", headers: ["Authorization": "Bearer \(key)"], to: try port(api, "api"))
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["subscriber"]
    }

    private func send(_ path: String, _ body: JSON, key: String, to api: Program) throws {
        let answer = HTTPCall.send(
            "POST", path, headers: ["Authorization": "Bearer \(key)"], body: body.bytes, to: try port(api, "api"))
        #expect(answer.status < 300, "\(answer.text)")
    }

    private func expectSigned(_ request: Consumer.Request, with secret: String) throws {
        let fault = try #require(WebhookSignatureCheck(secrets: [secret])).fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
    }

    /// What an event says, without when it was made.
    private func content(_ request: Consumer.Request) -> [JSON.Member]? {
        request.event?.members?.filter { $0.name != "event_timestamp_ms" }
    }

    private func job(_ id: Int64, _ site: Site) throws -> JSON? {
        try site.run("jobs", "show", String(id), "--json").document
    }

    private func end(_ programs: Program...) throws {
        for program in programs {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0, "\(program.log.suffix(2000))")
        }
    }

    // MARK: - The test

    @Test func `a dump restored elsewhere by the page, with the key alone, goes on and tells nothing anew`() throws {
        let blocks = try Self.commands(of: "A dump")
        #expect(blocks.count == 2 && blocks.joined().contains("pg_dump") && blocks.joined().contains("migrate"))
        let scene = try ReturnFixture(try TestCluster())
        let (site, former) = (scene.site, scene.database)

        // A history: grants, attributes, aliases, keys, an operator, and endpoints whose deliveries wait.
        let key = try #require(
            try site.run("keys", "create", "--kind", "secret", "--json").document?["key"]?.stringValue)
        try site.run("users", "add", "anna", "--role", "operator")
        let api = try site.start("api")
        try site.run("customers", "grant", "kim", "pro", "--create", "--duration", "yearly")
        try send(
            "/v1/subscribers/kim/attributes",
            .object(["attributes": .object(["plan": .object(["value": .string("gold")])])]), key: key, to: api)
        try site.run("customers", "alias", "kim", "kim@example.com", "--create", "--yes")
        let late = try Consumer()
        defer { late.stop() }
        let waiting = try site.addEndpoint(late)
        try site.run("endpoints", "disable", waiting.id)
        var grants = scene.before.count + 1
        try scene.untilTold(grants)
        try site.run("customers", "grant", "lee", "pro", "--create", "--duration", "monthly")
        grants += 1
        try scene.untilTold(grants)
        try eventually("one event waits for the endpoint that is disabled") {
            try former.count(
                "SELECT count(*) FROM entitled.delivery WHERE endpoint = $1", [.text(waiting.id)]) == 1
        }
        // What was sent and is not recorded would be sent again.
        try eventually("what was told is recorded") {
            try former.count(
                "SELECT count(*) FROM entitled.delivery WHERE state = 0 AND endpoint <> $1",
                [.text(waiting.id)]) == 0
        }
        // A job that no worker has begun, and notifications that none has applied.
        scene.worker.kill()
        _ = try scene.worker.wait()
        let replay = try site.start("replay", "history", "--app", "demo", "--from", "96h", "--to", "1h", "--json")
        try eventually("the job is there; it said: \(replay.log)") {
            try former.count("SELECT count(*) FROM entitled.job WHERE kind LIKE '%history%'") == 1
        }
        replay.kill()
        _ = try replay.wait()
        let number = try former.count("SELECT max(id) FROM entitled.job")
        let (unapplied, lost) = (Array(scene.after.prefix(3)), Array(scene.after.dropFirst(3)))
        try scene.untilStored(unapplied)
        #expect(try former.count("SELECT count(*) FROM entitled.pending") > 0)
        let known = try ["kim", "lee"].map { try subscriber($0, key: key, from: api) }
        try end(scene.ingest, api)

        let before = try contents(former)
        try shell(blocks[0], ["DATABASE_URL": former.url], in: site)

        // The installation goes on for a while, until its cluster is lost.
        try scene.startProcesses()
        try scene.untilStored(lost)
        try scene.untilTold(grants + scene.after.count)
        try eventually("all is recorded") {
            try former.count(
                "SELECT count(*) FROM entitled.delivery WHERE state = 0 AND endpoint <> $1",
                [.text(waiting.id)]) == 0
        }
        try scene.stopProcesses()
        let told = scene.consumer.requests
        let settled = Set(told.prefix(grants).map(\.id))
        let names = try roles(former)
        try scene.cluster.stop()

        // Another cluster, without any role of ours, and a host that has the key alone.
        let cluster = try TestCluster()
        let database = try cluster.makeDatabase()
        #expect(try roles(database).isEmpty)
        let (old, fresh) = ("\(site.folder)/state", "\(site.folder)/fresh")
        try scene.move(to: database, state: fresh)
        try TestCommand.run(["/bin/mkdir", fresh])
        try TestCommand.run(["/bin/cp", "\(old)/webhook-secrets.key", fresh])
        try shell(blocks[1], ["NEW_DATABASE_URL": database.url], in: site)
        #expect(try contents(database) == before)
        #expect(try roles(database) == names && names.count > 3)
        // Every role reaches it, with the privileges that it needs.
        let checks = try site.run(["doctor", "--offline", "--json"], status: 1).document?["checks"]?.arrayValue ?? []
        let found = checks.filter { check in
            ["database.connection", "database.privileges", "database.schema"].contains(check["name"]?.stringValue)
        }
        #expect(found.count > 3 && found.allSatisfy { $0["status"] == .string("ok") }, "\(found.map(\.text))")

        // What has seen the former cluster refuses this one.
        try scene.move(to: database, state: old)
        let ingest = try site.start("ingest")
        try eventually("it is refused; it said: \(ingest.log.suffix(2000))") {
            ingest.log.contains("is refused") && ingest.log.contains("--adopt-database")
        }
        ingest.kill()
        _ = try ingest.wait()
        let refusal = try site.run("migrate", status: 1).log
        #expect(refusal.contains("--adopt-database") && refusal.split(separator: "\n").count == 1)

        // Every role on the new host, and nothing told twice as new.
        try scene.move(to: database, state: fresh)
        try scene.startProcesses()
        let (rest, console) = (try site.start("api"), try site.start("console"))
        _ = try console.address("console")
        #expect(try ["kim", "lee"].map { try subscriber($0, key: key, from: rest) } == known)
        #expect(try subscriber("kim%40example.com", key: key, from: rest) == known.first)
        #expect(try site.run("users", "list", "--json").text.contains("anna"))
        _ = try scene.untilWhole(since: .now)
        try eventually("the job of before is done; the worker said: \(scene.log.suffix(2000))") {
            try job(number, site)?["state"]?.stringValue == "done"
        }
        try eventually("all is delivered") {
            try database.count(
                "SELECT count(*) FROM entitled.delivery WHERE state = 0 AND endpoint <> $1",
                [.text(waiting.id)]) == 0
        }
        try eventually("operators know") { !scene.notices.isEmpty }
        #expect(scene.notices.map { $0["data"]?["reason"]?.stringValue } == ["cluster"])
        let again = scene.consumer.requests.dropFirst(told.count)
        #expect(Set(again.map(\.id)).isSubset(of: Set(told.map(\.id)).subtracting(settled)))
        for request in again {
            try expectSigned(request, with: scene.secret)
            #expect(content(request) == content(try #require(told.first { $0.id == request.id })))
        }
        #expect(again.count >= unapplied.count)
        // The secret of the endpoint that was disabled is opened, too.
        #expect(late.requests.isEmpty)
        let held = Set(
            try database.texts(
                "SELECT upper(e.id::text) FROM entitled.event e JOIN entitled.delivery d ON d.event = e.id "
                    + "WHERE d.endpoint = $1", [.text(waiting.id)]))
        try site.run("endpoints", "enable", waiting.id)
        for request in try late.wait(held.count) { try expectSigned(request, with: waiting.secret) }
        #expect(Set(late.requests.map(\.id)) == held)
        let rebuilt = try site.run("rebuild", "--dry-run", "--json").document
        #expect(rebuilt?["differences"] == .int(0))

        // Once it is adopted, the programs of the former host go on with it, too; and those that run follow.
        try scene.move(to: database, state: old)
        let page = try site.run("migrate", "--adopt-database").text
        #expect(page.contains("adopted the database"))
        try site.run("endpoints", "list")
        let second = try site.start("ingest")
        var life = SubscriberLife(app: Site.app, seed: 3301)
        let new = life.start(at: SystemClock().now())
        #expect(try site.post(new, to: second.address("ingest")) == 200)
        try eventually("the workers apply it; it said: \(scene.log.suffix(2000))") {
            Set(scene.consumer.requests.map(\.id)).count == Set(told.map(\.id)).count + 1
        }
        try end(second, rest, console, scene.ingest, scene.worker)
    }
}
