import Base
import Daemon
import Glibc
import StoreSimulator
import TestSupport
import Testing

/// Restarts of real processes that no client sees, and what systemd is told of them.
///
/// Serialised: each test counts what clients see of a restart.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RollingRestartTests {
    /// A socket that listens, held by the test as systemd holds that of a socket unit.
    private final class Holder: Sendable {
        let descriptor: Int32
        let port: UInt16

        init() throws {
            guard let (descriptor, port) = LoopbackSocket.listen() else { throw TestFailure("no socket listens") }
            (self.descriptor, self.port) = (descriptor, port)
        }

        deinit { close(descriptor) }
    }

    private struct Count {
        var answers = 0
        var faults: [Int] = []
        var isOver = false
    }

    /// Asks from several threads until the body ends, every ten milliseconds each; the answers other than 200.
    private func beside(_ ask: @escaping @Sendable (Int) throws -> Int, _ body: (() throws -> Void) throws -> Void)
        throws
        -> [Int]
    {
        let count = Monitor(Count())
        let threads = (0..<2).map { thread in
            TestThread {
                var number = thread
                while !count.read({ $0.isOver }) {
                    let status = try ask(number)
                    count.change { count in
                        count.answers += 1
                        if status != 200 { count.faults.append(status) }
                    }
                    number += 2
                    usleep(10_000)
                }
            }
        }
        defer { count.change { $0.isOver = true } }
        try body {
            let before = count.read { $0.answers }
            try eventually(timeout: .seconds(60), "more is answered") { count.read { $0.answers } >= before + 30 }
        }
        count.change { $0.isOver = true }
        for thread in threads { try thread.value(timeout: .seconds(60)) }
        return count.read { $0.faults }
    }

    private func request(_ role: String, _ site: Site, port: UInt16) -> @Sendable (Int) throws -> Int {
        { number in
            switch role {
            case "ingest":
                var life = SubscriberLife(app: Site.app, seed: 61, number: UInt64(number))
                return try site.post(life.start(at: Site.start), to: "127.0.0.1:\(port)")
            case "api":
                let key = ["Authorization": "Bearer sk_a_key_for_tests_only"]
                let call = HTTPCall.send("GET", "/v1/subscribers/kim\(number % 8)", headers: key, to: port)
                return call.status == 201 ? 200 : call.status
            default: return HTTPCall.send("GET", "/healthz", to: port).status
            }
        }
    }

    @Test(arguments: ["ingest", "api", "console"])
    func `with its socket held by another process, a restart under load is seen by no client`(role: String) throws {
        let site = try Site(TestCluster.shared.makeDatabase())
        let api = JSON.object(["listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_a_key_for_tests_only"])])
        try site.configure(["api": api])
        try site.run("migrate")
        let holder = try Holder()
        var process = try site.start(role, socket: holder.descriptor)
        #expect(try process.address(role) == "127.0.0.1:\(holder.port)")
        let faults = try beside(request(role, site, port: holder.port)) { more in
            for _ in 0..<5 {
                try more()
                process.kill(SIGTERM)
                #expect(try process.wait() == 0)
                process = try site.start(role, socket: holder.descriptor)
            }
            try more()
        }
        #expect(faults == [])
        process.kill(SIGTERM)
        #expect(try process.wait() == 0)
    }

    @Test func `an inherited socket that is none, and one of no listener, are named`() throws {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let holder = try Holder()
        let worker = try site.start("worker", socket: holder.descriptor)
        // A worker has no listener but the admin one, which takes a single socket.
        #expect(try worker.address("admin") == "127.0.0.1:\(holder.port)")
        worker.kill(SIGTERM)
        #expect(try worker.wait() == 0)
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let ingest = try site.start("ingest", socket: file)
        #expect(try ingest.wait() == 1)
        #expect(ingest.log.contains("is no listening TCP socket"))
    }

    @Test func `before it drains, a process is not ready and answers everything, for as long as it is told`() throws {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.configure(["drain_delay": .string("2s")])
        try site.run("migrate")
        let ingest = try site.start("ingest")
        let (address, admin) = (try ingest.address("ingest"), try ingest.address("admin"))
        try eventually("it is ready") { site.get("/readyz", from: admin).status == 200 }
        ingest.kill(SIGTERM)
        try eventually("it is not ready any more") { site.get("/readyz", from: admin).status == 503 }
        #expect(site.get("/readyz", from: admin).text.contains("the process is ending"))
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        var life = SubscriberLife(app: Site.app, seed: 62, number: 1)
        let call = HTTPCall.send(
            "POST", "/apple/notifications", body: try site.body(life.start(at: Site.start)), to: port)
        #expect(call.status == 200)
        #expect(call.header("connection")?.lowercased() == "close")
        #expect(try ingest.wait() == 0)
        #expect(ingest.log.contains(#""delay_ms":2000"#))
    }

    @Test func `systemd is told of the start, of life, of a reload and of the end`() throws {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let systemd = try DatagramSocket("\(site.folder)/notify")
        let process = try site.start(
            "ingest", environment: ["NOTIFY_SOCKET": systemd.name, "WATCHDOG_USEC": "1000000"])
        func expect(_ expected: String) throws {
            var found: [String] = []
            while let datagram = systemd.receive() {
                found.append(datagram)
                if datagram.hasPrefix(expected) { return }
            }
            throw TestFailure("no \(expected) but \(found); it said: \(process.log.suffix(2000))")
        }
        try expect("READY=1")
        try expect("STATUS=ready")
        for _ in 0..<3 { try expect("WATCHDOG=1") }
        process.kill(SIGHUP)
        try expect("RELOADING=1\nMONOTONIC_USEC=")
        try expect("READY=1")
        process.kill(SIGTERM)
        try expect("STOPPING=1")
        #expect(try process.wait() == 0)
    }
}
