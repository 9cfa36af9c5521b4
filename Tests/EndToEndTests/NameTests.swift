import Base
import Glibc
import Postgres
import TestSupport
import Testing

/// A worker whose names a hostile name server resolves: real processes, in a mount namespace of their own with another
/// resolv.conf.
///
/// Serialised: name servers share port 53.
@Suite(
    .serialized, .enabled(if: Program.isBuilt, "skipped: the program is not built"),
    .enabled(if: MountNamespace.isAvailable, "skipped: mount namespaces and port 53 need root"))
struct NameTests {
    private static let loopback: [UInt8] = [127, 0, 0, 1]
    private static let publicIPv6: [UInt8] = [0x20, 0] + [UInt8](repeating: 0, count: 13) + [1]
    private static let privateIPv6: [UInt8] = [UInt8](repeating: 0, count: 15) + [1]

    /// By the first label of the name. What is public here is in no network: nobody is bothered.
    private static func answer(_ question: NameServer.Question, _ before: Int) -> NameServer.Answer {
        switch question.name.split(separator: ".").first {
        case "rebind": .addresses(before == 0 ? [publicIPv6] : [loopback])
        case "private": .addresses([loopback])
        case "mixed": .addresses([publicIPv6, loopback])
        case "sixes": .addresses([privateIPv6])
        case "public": .addresses([publicIPv6])
        case "loop": .alias("loop.test")
        case "failing": .failure
        case "silent": .silence
        case nil: .nothing
        default: .noSuchName
        }
    }

    /// A site whose programs ask this server, and complete names by a domain that they never should.
    private struct Scene {
        let site: Site
        let names: NameServer

        init() throws {
            names = try NameServer(NameTests.answer)
            site = try Site(TestCluster.shared.makeMigratedDatabase(), ["webhooks": .object([JSON.Member]())])
            let text = "nameserver \(names.address)\nsearch trap.test\noptions timeout:1 attempts:1\n"
            guard let file = fopen("\(site.folder)/resolv.conf", "w") else { throw TestFailure("no file") }
            fputs(text, file)
            fclose(file)
        }

        func start(_ arguments: String...) throws -> Program {
            let script = "mount --bind '\(site.folder)/resolv.conf' /etc/resolv.conf && exec \"$@\""
            return try Program(
                running: [
                    "/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh", Program.path,
                ]
                    + arguments + ["--config", "\(site.folder)/entitled.json5"], folder: site.folder)
        }

        /// Adds an endpoint of this name and sends it a test event.
        func send(to name: String, _ port: UInt16) throws -> String {
            let adding = try start("endpoints", "add", "https://\(name):\(port)/hooks", "--json")
            guard try adding.wait() == 0, let id = adding.document?["id"]?.stringValue else {
                throw TestFailure("\(name) was not added: \(adding.log)")
            }
            try site.run("endpoints", "test", id)
            return id
        }

        func outcomes(of endpoint: String) throws -> [String] {
            try site.database?.texts(
                """
                SELECT a.outcome FROM entitled.attempt a JOIN entitled.delivery d ON d.lane = a.lane AND d.id = a.delivery
                WHERE d.endpoint = $1
                """, [.text(endpoint)]) ?? []
        }
    }

    @Test func `whatever the name server says, nothing reaches a private address, and the log tells why`() throws {
        let scene = try Scene()
        defer { scene.names.stop() }
        let listener = try #require(LoopbackSocket.listen())
        defer { close(listener.0) }
        let worker = try scene.start("worker")
        let cases = [
            ("rebind.test", "refused_address"), ("public.test", "connect"), ("loop.test", "refused_address"),
            ("absent.test", "refused_address"), ("failing.test", "dns_temporary"), ("silent.test", "dns_temporary"),
        ]
        let endpoints = try cases.map { try scene.send(to: $0.0, listener.1) }
        for (endpoint, (name, outcome)) in zip(endpoints, cases) {
            try eventually("\(name) was tried; the worker said: \(worker.log.suffix(500))") {
                try !scene.outcomes(of: endpoint).isEmpty
            }
            #expect(try scene.outcomes(of: endpoint) == [outcome], "\(name)")
        }
        // An attempt says no more of a name than that it cannot be used; the log of the host does.
        for part in ["rebind.test: ", "is not public", "loop.test does not exist", "absent.test does not exist"] {
            #expect(worker.log.contains(part), "\(part)")
        }
        let told = try scene.site.database?.texts(
            "SELECT DISTINCT detail FROM entitled.attempt WHERE outcome = 'refused_address'")
        let same = told?.allSatisfy { $0.hasSuffix(" has no address that webhooks may be sent to") }
        #expect(told?.count == 3 && same == true)
        // Not one byte, not even a connection.
        var watched = pollfd(fd: listener.0, events: Int16(POLLIN), revents: 0)
        #expect(poll(&watched, 1, 0) == 0)
        // What strangers named was never completed by our own domain.
        #expect(!scene.names.questions.contains { $0.name.hasSuffix("trap.test") })
        #expect(scene.names.questions.contains { $0.name == "rebind.test" })
        worker.kill(SIGTERM)
        #expect(try worker.wait() == 0)
    }

    @Test(arguments: ["private.test", "mixed.test", "sixes.test"])
    func `an endpoint whose name is private is not taken`(name: String) throws {
        let scene = try Scene()
        defer { scene.names.stop() }
        let adding = try scene.start("endpoints", "add", "https://\(name)/hooks")
        #expect(try adding.wait() == 1)
        #expect(adding.log.contains("is not public"))
    }

    @Test func `while no name server answers no attempt is charged`() throws {
        let scene = try Scene()
        defer { scene.names.stop() }
        scene.names.setDead(true)
        let endpoint = try scene.send(to: "failing.test", 443)
        let worker = try scene.start("worker")
        let database = try #require(scene.site.database)
        try eventually("it was tried; the worker said: \(worker.log.suffix(500))") {
            try database.texts(
                "SELECT reason FROM entitled.delivery WHERE endpoint = $1 AND reason IS NOT NULL", [.text(endpoint)])
                == ["no name server answers"]
        }
        #expect(try database.count("SELECT attempts FROM entitled.delivery") == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.attempt") == 0)
        #expect(scene.names.questions.contains { $0.name.isEmpty && $0.type == 2 })
    }
}

private enum MountNamespace {
    static let isAvailable =
        getuid() == 0 && (try? TestCommand.run(["unshare", "-m", "--propagation", "private", "true"])) != nil
}
