import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// Requests through a proxy, which resolves and connects; what it does wrong is no fault of the target.
struct ProxyTests {
    /// A client whose own resolver knows the proxy's name and no other.
    private func makeClient(_ proxy: String, caFile: String? = nil, networks: [String] = []) throws -> HTTPClient {
        var configuration = HTTPClientConfiguration(
            allowedNetworks: networks.compactMap { Network(parsing: $0) }, caFile: caFile)
        let server = try #require(ProxyServer(parsing: proxy))
        configuration.proxy = server
        let metrics = Metrics()
        let client = try HTTPClient(
            configuration: configuration, logger: .silent, metrics: metrics,
            resolver: Resolver(metrics: metrics) { name in
                name == "proxy.test" ? .addresses([.v4(0x7f00_0001)]) : .notFound
            })
        client.start()
        return client
    }

    private func send(_ client: HTTPClient, _ url: String, timeout: Duration = .seconds(10)) -> TransferOutcome {
        client.sendAndWait(OutgoingRequest(url: url, body: Array("{}".utf8), timeout: timeout))
    }

    @Test(.enabled(if: TLSServer.isAvailable, "skipped: there is no openssl command"), arguments: ["http", "socks5h"])
    func `the proxy gets the name and its credentials, and the consumer gets neither`(scheme: String) throws {
        let server = try TLSServer(name: "consumer.test")
        let proxy = try TunnelProxy(scheme == "http" ? .connect(server.port) : .socks(0, server.port))
        defer { proxy.stop() }
        let credentials = scheme == "http" ? "user:p%40ss@" : ""
        let client = try makeClient("\(scheme)://\(credentials)proxy.test:\(proxy.port)", caFile: server.certificate)
        defer { client.stop() }
        for round in 0..<2 {
            let outcome = client.sendAndWait(OutgoingRequest(url: "https://consumer.test:8443/", method: "GET"))
            let response = try outcome.response()
            #expect(response.status == 200)
            #expect(!response.trace.head.text.contains("x-proxy"))
            #expect(!String(decoding: response.body, as: UTF8.self).lowercased().contains("proxy-"))
            #expect(response.trace.peer == .v4(0x7f00_0001), "\(round)")
        }
        let head = try #require(proxy.heads.first)
        if scheme == "http" {
            #expect(head.hasPrefix("CONNECT consumer.test:8443 HTTP/1.1\r\n"))
            #expect(head.contains("Proxy-Authorization: Basic dXNlcjpwQHNz"))
            #expect(!head.lowercased().contains("\nauthorization:"))
        } else {
            #expect(head == "consumer.test:8443")
        }
    }

    @Test(arguments: [407, 500, 502, 503, 504, 302])
    func `a proxy that fails or lets nobody in is our trouble`(status: Int) throws {
        let proxy = try TunnelProxy(.status(status))
        defer { proxy.stop() }
        let client = try makeClient("http://proxy.test:\(proxy.port)")
        defer { client.stop() }
        let failure = try send(client, "https://consumer.test/secret").failure()
        #expect(failure.kind == .infrastructure, "\(failure.message)")
        #expect(failure.message.hasPrefix("through the proxy: ") && !failure.message.contains("secret"))
        #expect(failure.status == nil && failure.body.isEmpty && failure.trace.head.isEmpty)
        #expect(proxy.heads.count == 1)
    }

    @Test(arguments: [400, 403, 404])
    func `a proxy that forbids a target refuses it`(status: Int) throws {
        let proxy = try TunnelProxy(.status(status))
        defer { proxy.stop() }
        let client = try makeClient("http://proxy.test:\(proxy.port)")
        defer { client.stop() }
        #expect(try send(client, "https://consumer.test/").failure().kind == .refusedAddress)
    }

    @Test(arguments: [
        (407, TransferFailure.Kind.refusedAddress), (502, .connect), (504, .connect), (500, .infrastructure),
    ])
    func `smokescreen says what is the target's fault`(status: Int, kind: TransferFailure.Kind) throws {
        let proxy = try TunnelProxy(.status(status, header: "X-Smokescreen-Error: no such host"))
        defer { proxy.stop() }
        let client = try makeClient("http://proxy.test:\(proxy.port)")
        defer { client.stop() }
        #expect(try send(client, "https://consumer.test/").failure().kind == kind)
    }

    @Test(.enabled(if: TLSServer.isAvailable, "skipped: there is no openssl command"), arguments: ["http", "socks5h"])
    func `what is wrong behind the tunnel is the target's fault`(scheme: String) throws {
        let server = try TLSServer(name: "other.test")
        let slow = try HostileServer()
        defer { slow.stop() }
        let cases = [
            (server.port, "https://consumer.test/", TransferFailure.Kind.tls),
            (slow.port, "http://10.0.0.1:8080/hang", .timeout), (slow.port, "http://10.0.0.1:8080/close", .closed),
        ]
        for (port, url, kind) in cases {
            let proxy = try TunnelProxy(scheme == "http" ? .connect(port) : .socks(0, port))
            defer { proxy.stop() }
            let client = try makeClient(
                "\(scheme)://proxy.test:\(proxy.port)", caFile: server.certificate, networks: ["10.0.0.0/8"])
            defer { client.stop() }
            // SOCKS proxies get literal addresses too, which the one of these tests does not read.
            guard scheme == "http" || kind == .tls else { continue }
            let failure = try send(client, url, timeout: .seconds(2)).failure()
            #expect(failure.kind == kind, "\(failure.message)")
        }
    }

    @Test(arguments: [
        (UInt8(1), TransferFailure.Kind.infrastructure), (2, .refusedAddress), (3, .connect), (4, .connect),
        (5, .connect), (6, .connect), (7, .infrastructure),
    ])
    func `what a SOCKS proxy replies tells whose fault it is`(reply: UInt8, kind: TransferFailure.Kind) throws {
        let proxy = try TunnelProxy(.socks(reply, 0))
        defer { proxy.stop() }
        let client = try makeClient("socks5h://proxy.test:\(proxy.port)")
        defer { client.stop() }
        let failure = try send(client, "https://consumer.test/").failure()
        #expect(failure.kind == kind, "\(failure.message)")
    }

    @Test(arguments: ["http", "https", "socks5h"])
    func `a proxy that closes, is not there or has no address is our trouble`(scheme: String) throws {
        let closing = try TunnelProxy(.close)
        let gone = try TunnelProxy(.close)
        gone.stop()
        defer { closing.stop() }
        for address in ["proxy.test:\(closing.port)", "proxy.test:\(gone.port)", "unknown.test:3128"] {
            let client = try makeClient("\(scheme)://\(address)")
            defer { client.stop() }
            let failure = try send(client, "https://consumer.test/", timeout: .seconds(3)).failure()
            #expect(failure.kind == .infrastructure, "\(address): \(failure.kind) \(failure.message)")
        }
    }

    @Test func `a tunnel that never comes is cut at the timeout`() throws {
        let proxy = try TunnelProxy(.silence)
        defer { proxy.stop() }
        let client = try makeClient("http://proxy.test:\(proxy.port)")
        defer { client.stop() }
        let failure = try send(client, "https://consumer.test/", timeout: .milliseconds(300)).failure()
        #expect(failure.kind == .timeout && failure.milliseconds < 5000)
    }

    @Test(arguments: [
        "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "https://2130706433/", "https://consumer.test:25/",
        "https://consumer.test:6379/", "http://consumer.test/", "http://8.8.8.8/",
    ])
    func `private addresses and other services' ports are refused before the proxy is asked`(url: String) throws {
        let proxy = try TunnelProxy(.close)
        defer { proxy.stop() }
        let client = try makeClient("http://proxy.test:\(proxy.port)")
        defer { client.stop() }
        #expect(try send(client, url).failure().kind == .refusedAddress)
        #expect(proxy.heads.isEmpty)
    }

    @Test func `an allowed address is reached through the proxy`() throws {
        let server = try HostileServer()
        defer { server.stop() }
        let proxy = try TunnelProxy(.connect(server.port))
        defer { proxy.stop() }
        let client = try makeClient("http://proxy.test:\(proxy.port)", networks: ["10.0.0.0/8"])
        defer { client.stop() }
        #expect(try send(client, "http://10.0.0.1:8080/status/503").response().status == 503)
        #expect(proxy.heads.first?.hasPrefix("CONNECT 10.0.0.1:8080 ") == true)
    }

    @Test(arguments: [
        "", "proxy:3128", "ftp://proxy:3128", "socks5://proxy:1080", "socks4://proxy:1080", "http://proxy",
        "http://proxy:0", "http://proxy:3128/path", "http://proxy:3128/?q", "http://proxy:3128#f", "http://pro xy:3128",
        "http://:3128", "http://[fe80::1%25eth0]:3128",
    ])
    func `what is no proxy is not parsed`(text: String) {
        #expect(ProxyServer(parsing: text) == nil)
    }

    @Test func `a proxy's description hides its credentials`() throws {
        let proxy = try #require(ProxyServer(parsing: "socks5h://robin:hunter2@[::1]:1080/"))
        #expect(proxy.origin == "socks5h://[::1]:1080")
        var dumped = ""
        dump(proxy, to: &dumped)
        #expect(!dumped.contains("hunter2") && !dumped.contains("robin"))
    }
}
