import Base
import Daemon
import Glibc
import HTTP
import Synchronization
import TestSupport
import Testing

/// Where requests may not go, with real sockets: a server listens, and nothing may arrive.
struct IsolationTests {
    @Test(arguments: [
        "127.0.0.1", "0.0.0.0", "0", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.1.", "%31%32%37.0.0.1",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]", "localhost", "localhost.", "LOCALHOST", "127。0。0。1", "①②⑦.0.0.1", "0x7f.1",
    ])
    func `no spelling of a private address is connected to`(host: String) throws {
        let fixture = try ClientFixture(networks: []) { SystemNames.lookup($0) }
        for scheme in ["http", "https"] {
            let url = "\(scheme)://\(host):\(fixture.server.port)/private"
            let failure = try fixture.client.sendAndWait(OutgoingRequest(url: url)).failure()
            #expect(failure.kind == .refusedAddress, "\(failure.message)")
        }
        #expect(fixture.server.connections == 0)
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/passwd", "example.com", "http://a:b@127.0.0.1/", "http://ex ample/",
        "https://example.com@127.0.0.1/", "https://127.0.0.1:80@example.com/", "https://example.com%40127.0.0.1/",
        "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://127.0.0.1../", "https://127.0.0.1:80:443/",
        "https:\\\\127.0.0.1/", "https:/127.0.0.1/", "https:///127.0.0.1/", "https://127.0.0.1\t/",
    ])
    func `what is no URL is not sent to`(url: String) throws {
        let fixture = try ClientFixture()
        #expect(try fixture.client.sendAndWait(OutgoingRequest(url: url)).failure().kind == .invalidURL)
    }

    @Test func `a name is connected to at its vetted address`() throws {
        let fixture = try ClientFixture { name in
            name == "consumer.test" ? .addresses([.v4(0x7f00_0001)]) : .notFound
        }
        let url = "http://Consumer.Test:\(fixture.server.port)/ok"
        let response = try fixture.client.sendAndWait(OutgoingRequest(url: url)).response()
        #expect(response.status == 200)
        let head = try #require(fixture.server.requests.first).head
        #expect(head.contains("Host: consumer.test:\(fixture.server.port)"))
    }

    @Test func `localhost is no way around the resolver`() throws {
        // libcurl knows this name by itself; the answer that was vetted must win, and here it is nobody's address.
        let fixture = try ClientFixture(networks: ["127.0.0.2/32"]) { _ in .addresses([.v4(0x7f00_0002)]) }
        let url = "http://localhost:\(fixture.server.port)/ok"
        let failure = try fixture.client.sendAndWait(OutgoingRequest(url: url, timeout: .seconds(3))).failure()
        #expect(failure.kind == .connect, "\(failure.message)")
        #expect(fixture.server.connections == 0)
    }

    @Test func `the next address is tried when the first does not answer`() throws {
        let fixture = try ClientFixture { _ in .addresses([.v4(0x7f00_0009), .v4(0x7f00_0001)]) }
        let url = "http://two.test:\(fixture.server.port)/ok"
        #expect(try fixture.client.sendAndWait(OutgoingRequest(url: url)).response().status == 200)
    }

    @Test func `one private address among several refuses the name`() throws {
        let fixture = try ClientFixture(networks: []) { _ in .addresses([.v4(0x0808_0808), .v4(0x7f00_0001)]) }
        let url = "https://mixed.test:\(fixture.server.port)/ok"
        #expect(try fixture.client.sendAndWait(OutgoingRequest(url: url)).failure().kind == .refusedAddress)
    }

    @Test func `a name that changes its address later is judged again`() throws {
        let answers = Mutex<[Resolution]>([.addresses([.v4(0x7f00_0001)])])
        let fixture = try ClientFixture(networks: ["127.0.0.1/32"]) { _ in
            answers.withLock { $0.isEmpty ? .addresses([.v4(0x7f00_0003)]) : $0.removeFirst() }
        }
        let first = "http://rebound.test:\(fixture.server.port)/ok"
        #expect(try fixture.client.sendAndWait(OutgoingRequest(url: first)).response().status == 200)
        // Another name, the same host: its own lookup, its own verdict.
        let second = "http://rebound2.test:\(fixture.server.port)/ok"
        #expect(try fixture.client.sendAndWait(OutgoingRequest(url: second)).failure().kind == .refusedAddress)
    }

    @Test func `a public address is not reached by plain http`() throws {
        let fixture = try ClientFixture { _ in .addresses([.v4(0x0808_0808)]) }
        let failure = try fixture.client.sendAndWait(OutgoingRequest(url: "http://public.test/")).failure()
        #expect(failure.kind == .refusedAddress)
        #expect(failure.message.contains("use https"))
    }

    @Test func `proxies from the environment are ignored`() throws {
        let fixture = try ClientFixture()
        for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
            setenv(name, "http://127.0.0.1:9", 1)
        }
        defer {
            for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
                unsetenv(name)
            }
        }
        #expect(try fixture.send("/ok").response().status == 200)
    }

    @Test(arguments: [
        (Resolution.notFound, TransferFailure.Kind.dnsNotFound), (.temporarily, .dnsTemporary),
        (.infrastructure("no"), .infrastructure),
    ])
    func `a name that does not resolve is told apart`(resolution: Resolution, kind: TransferFailure.Kind) throws {
        let fixture = try ClientFixture { _ in resolution }
        #expect(try fixture.client.sendAndWait(OutgoingRequest(url: "https://x.test/")).failure().kind == kind)
    }

    @Test func `names that hang hold up nobody and end within the request's timeout`() throws {
        let gate = Monitor(false)
        let fixture = try ClientFixture { _ in
            _ = gate.wait(timeout: .seconds(30)) { $0 ? true : nil }
            return .notFound
        }
        defer { gate.change { $0 = true } }
        let hanging = Outcomes()
        for number in 0..<500 {
            let request = OutgoingRequest(url: "https://hang-\(number).test/", timeout: .milliseconds(300))
            fixture.client.submit(request, completion: hanging.add)
        }
        let times = try (0..<41).map { _ in try fixture.send("/ok", timeout: .seconds(5)).response().milliseconds }
        #expect(times.sorted()[20] < 50 && times.max() ?? 0 < 2000, "\(times)")
        let failures = try hanging.wait(500).map { try $0.failure() }
        #expect(failures.allSatisfy { $0.milliseconds < 3000 })
        // What was never asked for is not to blame.
        #expect(failures.count { $0.kind == .dnsTemporary } == 6)
        #expect(failures.count { $0.kind == .infrastructure } == 494)
        #expect(failures.count == 500)
    }
}

/// The system's answers, for names that every system knows.
enum SystemNames {
    static func lookup(_ name: String) -> Resolution {
        name == "localhost" ? .addresses([.v6(high: 0, low: 1), .v4(0x7f00_0001)]) : .notFound
    }
}
